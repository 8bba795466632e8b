//! The accuracy of structures with the same memory: heavy flows found, and the error over all flows.

use super::contender::{Contender, Edison};
use super::keyed;
use super::stream::SketchStream;
use super::{BENCH, BYTES};
use crate::compare::{self, thread_time};
use crate::line::to_digits;
use crate::{BenchResult, Points};
use packet::{KeyV4, Seed};
use serde_json::{Value, json};
use sketch::{
    ArrayConfig, Configuration, Conservative, CountMin, CountSketch, CounterArray, KAry, Policy, Tracked,
    TrackedConfig,
};
use std::collections::HashSet;

/// Streams, and seeds of the structures.
const SEEDS: u64 = 10;
/// Thresholds of heavy flows, as shares of the packets.
const THRESHOLDS: [f64; 2] = [0.002, 0.0005];

type Make = fn(Seed) -> Result<Box<dyn Contender>, String>;

/// All structures that are compared.
const STRUCTURES: &[Make] = &[
    array::<CountMin>,
    array::<Conservative>,
    array::<CountSketch>,
    array::<KAry>,
    with_candidates,
    keyed::simple_hash_table,
    keyed::checked_hash_table,
    keyed::mv_sketch,
    keyed::space_saving,
    keyed::coco_sketch,
    keyed::packet_sample,
    keyed::sample_and_hold,
];

fn array<P: Policy>(seed: Seed) -> Result<Box<dyn Contender>, String> {
    let configuration = ArrayConfig::<P>::with_bytes(BYTES, seed).map_err(|error| error.to_string())?;
    Ok(Box::new(Edison::<CounterArray<P>>::asked(P::KIND, &configuration)?))
}

/// Makes Count-Min with candidates. Its candidates are included in the memory, and no other component has to know the flows.
fn with_candidates(seed: Seed) -> Result<Box<dyn Contender>, String> {
    type Structure = Tracked<KeyV4, CountMin>;
    let configuration = TrackedConfig::with_bytes(BYTES, seed).map_err(|error| error.to_string())?;
    Ok(Box::new(Edison::<Structure>::listing("count_min_with_candidates", &configuration)?))
}

/// Figures to be reached on the streams of 1M packets of 300k flows, Zipf(1): F1 by threshold, average
/// relative error.
const PUBLISHED: [(&str, [f64; THRESHOLDS.len()], f64); 8] = [
    ("count_min", [1.0, 0.977], 16.8),
    ("conservative_update", [1.0, 1.0], 10.4),
    ("count_sketch", [1.0, 0.977], 5.0),
    ("k_ary", [0.973, 0.872], 1.68),
    ("simple_hash_table", [0.947, 0.858], 90.6),
    ("mv_sketch", [1.0, 1.0], 44.9),
    ("space_saving", [1.0, 0.993], 323.0),
    ("coco_sketch", [1.0, 0.997], f64::INFINITY),
];

/// False if no seed reaches a structure's published figures.
fn comes_up_to_published(name: &str, scores: &[StructureScore]) -> bool {
    let Some((_, f1, are)) = PUBLISHED.iter().find(|(of, ..)| *of == name) else { return true };
    let any = |is_met: &dyn Fn(&StructureScore) -> bool| scores.iter().any(is_met);
    // The figures have three digits.
    f1.iter().enumerate().all(|(number, f1)| any(&|score| score.f1[number] > f1 - 0.0005))
        && any(&|score| score.are < are * 1.0005)
}

/// The score of one structure on one stream.
struct StructureScore {
    /// F1 by threshold.
    f1: [f64; THRESHOLDS.len()],
    /// Average relative error over all flows; 1 for those that it does not know.
    are: f64,
    ns: f64,
}

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let (flows, zipf) = (points.flows.unwrap_or(300_000), points.zipf.unwrap_or(1.0));
    let packets = points.packets.unwrap_or(1_000_000).min(1 << 28);
    let is_published = (flows, zipf, packets) == (300_000, 1.0, 1_000_000);
    let mut scores: Vec<Vec<StructureScore>> = STRUCTURES.iter().map(|_| Vec::new()).collect();
    let mut made = Vec::new();
    for seed in 1..=SEEDS {
        let stream = SketchStream::draw(packets, flows, zipf, seed)?;
        for (scores, make) in scores.iter_mut().zip(STRUCTURES) {
            let mut contender = make(Seed::new(seed))?;
            scores.push(score(&mut *contender, &stream));
            made.push((contender.name(), contender.bytes()));
        }
    }
    for (scores, (name, bytes)) in scores.into_iter().zip(made) {
        let mut more = vec![("seeds", json!(SEEDS))];
        let names =
            [("f1_0.2_percent", "f1_0.2_percent_spread"), ("f1_0.05_percent", "f1_0.05_percent_spread")];
        for (number, (middle, spread)) in names.into_iter().enumerate() {
            more.extend(median_and_spread(middle, spread, scores.iter().map(|score| score.f1[number]), 3));
        }
        more.extend(median_and_spread("are", "are_spread", scores.iter().map(|score| score.are), 2));
        let rounds_ns = scores.iter().map(|score| score.ns).collect();
        out(BenchResult {
            bench: BENCH,
            variant: name.to_owned(),
            params: vec![("flows", json!(flows)), ("zipf", json!(zipf)), ("memory", json!("128 KiB"))],
            packets,
            rounds_ns,
            memory_bytes: Some(bytes as u64),
            checked: !is_published || comes_up_to_published(name, &scores),
            more,
        });
    }
    Ok(())
}

fn median_and_spread(
    middle: &'static str,
    spread: &'static str,
    values: impl Iterator<Item = f64>,
    digits: i32,
) -> [(&'static str, Value); 2] {
    let values: Vec<f64> = values.map(|value| to_digits(value, digits)).collect();
    let ends = compare::spread(&values);
    [(middle, json!(to_digits(compare::median(&values), digits))), (spread, json!(ends))]
}

fn score(contender: &mut dyn Contender, stream: &SketchStream) -> StructureScore {
    let began = thread_time();
    contender.count(stream);
    let ns = thread_time() - began;
    let f1 = THRESHOLDS.map(|share| f1(contender, stream, (share * stream.packets() as f64).ceil() as u64));
    let error = |(key, count): &(KeyV4, u32)| {
        let count = f64::from(*count);
        (contender.estimate(key).unwrap_or(0.0) - count).abs() / count
    };
    let are = stream.flows.iter().map(error).sum::<f64>() / stream.flows.len() as f64;
    StructureScore { f1, are, ns }
}

/// The harmonic mean of precision and recall.
fn f1(contender: &dyn Contender, stream: &SketchStream, threshold: u64) -> f64 {
    let heavy: HashSet<KeyV4> = stream
        .flows
        .iter()
        .filter(|(_, count)| u64::from(*count) >= threshold)
        .map(|(key, _)| *key)
        .collect();
    let named = contender.listed(threshold).unwrap_or_else(|| {
        let reaches = |key: &KeyV4| contender.estimate(key).is_some_and(|value| value >= threshold as f64);
        stream.flows.iter().map(|(key, _)| *key).filter(reaches).collect()
    });
    let right = named.iter().filter(|key| heavy.contains(key)).count();
    2.0 * right as f64 / (named.len() + heavy.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known(Vec<(KeyV4, f64)>);

    impl Contender for Known {
        fn name(&self) -> &'static str {
            "known"
        }
        fn reset(&mut self) {}
        fn count(&mut self, _: &SketchStream) {}
        fn bytes(&self) -> usize {
            0
        }
        fn estimate(&self, key: &KeyV4) -> Option<f64> {
            self.0.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
        }
        fn listed(&self, _: u64) -> Option<Vec<KeyV4>> {
            None
        }
    }

    #[test]
    fn scores_are_what_their_definitions_say() {
        let key = |number: u8| KeyV4::new([number; 8], [0; 4], 6);
        let stream = SketchStream {
            keys: vec![key(1); 1000],
            tuples: Vec::new(),
            flows: vec![(key(1), 500), (key(2), 300), (key(3), 1), (key(4), 199)],
        };
        // Of three heavy flows (2 packets and more) two are found, and one that is none.
        let mut known = Known(vec![(key(1), 600.0), (key(2), 300.0), (key(3), 2.0), (key(4), 1.0)]);
        let score = score(&mut known, &stream);
        let (precision, recall) = (2.0 / 3.0, 2.0 / 3.0);
        assert!(
            (score.f1[0] - 2.0 * precision * recall / (precision + recall)).abs() < 1e-12,
            "{:?}",
            score.f1
        );
        assert!(
            (score.are - (100.0 / 500.0 + 0.0 + 1.0 + 198.0 / 199.0) / 4.0).abs() < 1e-12,
            "{}",
            score.are
        );
    }
}
