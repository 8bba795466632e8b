//! Speed compared with a plain scalar version: how many times as fast, on the same packets, in turn.

use super::BENCH;
use super::comparison::SpeedComparison;
use super::contender::Edison;
use super::keyed;
use super::plain_count_min::PlainCountMin;
use super::stream::SketchStream;
use crate::compare::{in_turn, median_ratio, thread_time};
use crate::line::to_digits;
use crate::{BenchResult, Points};
use packet::Seed;
use serde_json::json;
use sketch::{ArrayConfig, CountMin, CounterArray};

fn comparisons() -> Result<Vec<SpeedComparison>, String> {
    let count_min = [(1 << 10, 4.0), (1 << 16, 4.0), (1 << 20, 6.0)];
    let count_min = count_min.into_iter().map(|(width, asked_times)| self::count_min(width, asked_times));
    count_min.chain(keyed::comparisons()).collect()
}

fn count_min(width: usize, asked_times: f64) -> Result<SpeedComparison, String> {
    const DEPTH: usize = 3;
    let configuration =
        ArrayConfig::<CountMin>::new(DEPTH, width, Seed::new(7)).map_err(|error| error.to_string())?;
    let edison = Edison::<CounterArray<CountMin>>::asked("count_min", &configuration)?;
    Ok(SpeedComparison {
        params: vec![("depth", json!(DEPTH)), ("width", json!(width))],
        contenders: vec![
            Box::new(PlainCountMin::<false>::new(width)),
            Box::new(PlainCountMin::<true>::new(width)),
            Box::new(edison),
        ],
        // Never too little, and too much by e·N/w for no more flows than the bound lets through.
        check: Box::new(move |contender, stream| {
            let noise = std::f64::consts::E * stream.packets() as f64 / width as f64;
            let errors = stream.flows.iter().map(|(key, count)| {
                contender.estimate(key).map_or(f64::NEG_INFINITY, |value| value - f64::from(*count))
            });
            let beyond = errors.clone().filter(|error| *error > noise).count();
            errors.clone().all(|error| error >= 0.0)
                && beyond as f64 <= (-(DEPTH as f64)).exp() * stream.flows.len() as f64
        }),
        asked_times: Some(asked_times),
    })
}

/// Runs all comparisons.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let (flows, zipf) = (points.flows.unwrap_or(1_000_000), points.zipf.unwrap_or(1.0));
    let packets = points.packets.unwrap_or(4_000_000).min(1 << 28);
    let stream = SketchStream::draw(packets, flows, zipf, 1)?;
    for comparison in comparisons()? {
        compare(comparison, &stream, (flows, zipf), points.seconds, out);
    }
    Ok(())
}

fn compare(
    mut comparison: SpeedComparison,
    stream: &SketchStream,
    (flows, zipf): (u64, f64),
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) {
    let mut checked = vec![true; comparison.contenders.len()];
    let mut numbered: Vec<_> = comparison.contenders.iter_mut().enumerate().collect();
    let times = in_turn(&mut numbered, seconds, |(number, contender)| {
        contender.reset();
        let began = thread_time();
        contender.count(stream);
        let time = thread_time() - began;
        checked[*number] &= (comparison.check)(&***contender, stream);
        time
    });
    let plain = times[0].clone();
    for (number, rounds_ns) in times.into_iter().enumerate() {
        let contender = &comparison.contenders[number];
        let mut params = vec![("flows", json!(flows)), ("zipf", json!(zipf)), ("cores", json!(1))];
        params.extend(comparison.params.clone());
        let mut more = Vec::new();
        if number > 0 {
            let times_plain = median_ratio(&plain, &rounds_ns);
            more.push(("times_plain", json!(to_digits(times_plain, 2))));
            if let Some(asked) = comparison.asked_times.filter(|_| !contender.is_baseline()) {
                more.push(("asked_times", json!(asked)));
            }
        }
        out(BenchResult {
            bench: BENCH,
            variant: contender.name().to_owned(),
            params,
            packets: stream.packets(),
            rounds_ns,
            memory_bytes: Some(contender.bytes() as u64),
            checked: checked[number],
            more,
        });
    }
}
