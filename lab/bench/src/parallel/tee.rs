//! `edison-lab bench tee`: what the core of the packet path spends on a packet where another core measures a sample (Alipourfard et al. 2015,
//! section 4, Figure 5), and how near the answers are.

use super::fit::{FeasibleCase, fit};
use super::rig::{CountingStructure, RigSetting, RigTraffic, RunMeasurement, measure};
use super::{ONE_WINDOW, rounded, settings, wire};
use crate::compare::median;
use crate::{BenchResult, Points};
use flow::Share;
use notation::Rate;
use port::wire::ReplayLength;
use serde_json::json;

/// The shares of Figure 5.
const PERCENT: [u32; 3] = [10, 15, 20];
/// Rounds, of which the median counts.
const ROUNDS: usize = 7;
/// Flows of which the table takes 32 MiB, and the skew at which large tables miss the caches.
const FLOWS: u64 = 330_000;
const ZIPF: f64 = 0.5;
/// A rate that one core sustains without a tee as well.
const RATE: &str = "10Mpps";
/// Passes over the traffic at full speed.
const LAPS: u64 = 8;
/// Bytes of a frame.
const FRAME: u32 = 64;
const BURST: usize = 256;
/// Packets of a window, of which the answers are compared with the truth: with this skew some forty flows are heavy hitters.
const WINDOW: u64 = 1_000_000;
const HEAVY_FLOWS: u64 = 100_000;
const HEAVY_ZIPF: f64 = 1.0;

/// A variant: where packets are measured, and which share of them.
struct TeeVariant {
    name: String,
    case: FeasibleCase,
    share: Option<Share>,
}

fn variants() -> Result<Vec<TeeVariant>, String> {
    let mut variants =
        vec![TeeVariant { name: "not_tee".to_owned(), case: fit(("rss", Some(1), 1))?, share: None }];
    for percent in PERCENT {
        let case = fit(("async", Some(2), 1))?;
        variants.push(TeeVariant {
            name: format!("tee_{percent}"),
            case,
            share: Share::from_ppm(percent * 10_000),
        });
    }
    Ok(variants)
}

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let variants = variants()?;
    let (flows, zipf) = (points.flows.unwrap_or(FLOWS), points.zipf.unwrap_or(ZIPF));
    for rate in [None, Some(RATE)] {
        path(points, &variants, (flows, zipf), rate, out)?;
    }
    answers(points, &variants, out)
}

/// The packet path at full speed with and without a sample, with a table for that many flows, drawn at a skew.
pub(crate) fn path_of(
    traffic: (u64, f64),
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    path(&Points { seconds, ..Points::default() }, &variants()?, traffic, None, out)
}

/// The answers of a window of a million packets.
pub(crate) fn answers_of_a_window(out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    answers(&Points::default(), &variants()?, out)
}

/// Nanoseconds of the receiving core for each packet that it received: at full speed all its time, and at a rate polling, what it
/// reads of frames, and handing over or counting, without the time in which no packet is there.
fn path_ns(measured: &RunMeasurement, rate: Option<&str>) -> f64 {
    let step = measured.step_ns();
    match rate {
        None => measured.receiving_ns() / measured.wire.offered as f64,
        Some(_) => {
            let last = if measured.has_workers() { step.hand_over } else { step.process };
            step.receive + step.free + step.parse + last
        }
    }
}

/// The variants in turn, at one rate or, without one, as fast as the core takes packets.
fn path(
    points: &Points,
    variants: &[TeeVariant],
    (flows, zipf): (u64, f64),
    rate: Option<&str>,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let packets = points.packets.unwrap_or(4 * flows);
    let mut traffic = RigTraffic::new(packets, flows, zipf, FRAME)?;
    let nanoseconds = (points.seconds * 1e9 / (ROUNDS * variants.len()) as f64) as u64;
    let length = match rate {
        None => ReplayLength::Packets(LAPS * traffic.packets()),
        Some(_) => ReplayLength::Nanoseconds(nanoseconds.max(100_000_000)),
    };
    let mut rounds: Vec<Vec<RunMeasurement>> = variants.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (variant, rounds) in variants.iter().zip(&mut rounds) {
            rounds.push(one(&mut traffic, variant, rate, length)?);
        }
    }
    let ns =
        |rounds: &[RunMeasurement]| -> Vec<f64> { rounds.iter().map(|round| path_ns(round, rate)).collect() };
    let without = median(&ns(&rounds[0]));
    for (variant, rounds) in variants.iter().zip(&rounds) {
        let (times, last) = (ns(rounds), &rounds[ROUNDS - 1]);
        let mut more = vec![
            ("times_not_tee", json!(rounded(median(&times) / without))),
            ("less_percent", json!(rounded(100.0 * (1.0 - median(&times) / without)))),
            ("loss", json!(last.loss()[0])),
            ("ring_full", json!(last.ring_full)),
        ];
        more.extend(last.members());
        more.extend(variant.case.instead.as_ref().map(|instead| ("instead", json!(instead))));
        let params = vec![
            ("flows", json!(flows)),
            ("zipf", json!(zipf)),
            ("rate", json!(rate)),
            ("share", json!(variant.share.map(Share::probability))),
        ];
        out(BenchResult {
            bench: "tee",
            variant: variant.name.clone(),
            params,
            packets: 1,
            rounds_ns: times,
            memory_bytes: Some(last.memory_bytes),
            checked: rounds.iter().all(|measured| measured.is_right),
            more,
        });
    }
    Ok(())
}

/// The answers of one window, replayed: nothing is lost but what is not sampled.
fn answers(points: &Points, variants: &[TeeVariant], out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.unwrap_or(HEAVY_FLOWS);
    let zipf = points.zipf.unwrap_or(HEAVY_ZIPF);
    let mut traffic = RigTraffic::new(WINDOW, flows, zipf, FRAME)?;
    for variant in variants {
        let measured = one(&mut traffic, variant, None, ReplayLength::Once)?;
        let accuracy = measured.accuracy.ok_or("a window of which something was lost has no accuracy")?;
        out(BenchResult {
            bench: "tee",
            variant: format!("{}_answers", variant.name),
            params: vec![
                ("flows", json!(flows)),
                ("zipf", json!(zipf)),
                ("share", json!(variant.share.map(Share::probability))),
            ],
            packets: WINDOW,
            rounds_ns: vec![measured.receiving_ns()],
            memory_bytes: Some(measured.memory_bytes),
            checked: measured.is_right && accuracy.is_as_promised(),
            more: accuracy.members(),
        });
    }
    Ok(())
}

fn one(
    traffic: &mut RigTraffic,
    variant: &TeeVariant,
    rate: Option<&str>,
    length: ReplayLength,
) -> Result<RunMeasurement, String> {
    // Its own settings: a paper's are those of its own benches.
    let preset = settings(&Points::default());
    let rate: Option<Rate> =
        rate.map(|rate| rate.parse().map_err(|error| format!("{rate}: {error}"))).transpose()?;
    let setting = RigSetting {
        wire: wire(preset, rate, variant.case.queues, length),
        plan: variant.case.plan.clone(),
        kept: CountingStructure::plain(),
        sampling: variant.share,
        every: ONE_WINDOW,
        between_cores: preset.between_cores,
        burst: BURST,
        warm_up: 0,
        timed: true,
    };
    measure(traffic, &setting)
}
