//! Designs at full speed, without loss, and one at a rate that it keeps up with: what each step takes of a packet.

use super::fit::{FeasibleCase, fit};
use super::rig::{CountingStructure, RigSetting, RigTraffic, RunMeasurement, expect, measure};
use super::turns::in_turns;
use super::{ONE_WINDOW, packets, wire};
use crate::compare::median;
use crate::preset::OWN;
use crate::{BenchResult, Points};
use engine::StepNs;
use port::wire::ReplayLength;
use serde_json::json;

/// A kind of design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DesignKind {
    /// Every core receives and counts.
    Rss,
    /// A design in which some cores receive and the others count.
    Clusters,
}

/// The measurement of a design. Nanoseconds per packet are medians over the rounds.
#[derive(Clone, Debug)]
pub(crate) struct FullSpeed {
    pub(crate) line: BenchResult,
    pub(crate) flows: u64,
    pub(crate) zipf: f64,
    pub(crate) design: DesignKind,
    pub(crate) threads: usize,
    /// True if the rate is one that both cores keep up with, so that neither waits for the other.
    pub(crate) is_easy: bool,
    pub(crate) receive: f64,
    pub(crate) free: f64,
    pub(crate) parse: f64,
    /// Updating tables, on whichever core.
    pub(crate) process: f64,
    /// Handing over, with waiting for room.
    pub(crate) hand_over: f64,
}

impl FullSpeed {
    /// Returns the time of all steps of a packet, nanoseconds.
    pub(crate) fn all_steps(&self) -> f64 {
        self.receive + self.free + self.parse + self.process + self.hand_over
    }
}

/// The rate at which handing over never waits, and packets that arrive at it.
const EASY: &str = "8Mpps";
const MOST_AT_A_RATE: u64 = 8_000_000;

/// Measures one core, two that receive and count, and one that hands over to another, in turn, as far as there are cores; each goes over the
/// traffic `laps` times. The last one is measured once more at a rate that it keeps up with.
pub(crate) fn full_speed(
    points: &Points,
    flows: u64,
    zipf: f64,
    laps: u64,
) -> Result<Vec<FullSpeed>, String> {
    let cases = [
        ("rss_1", DesignKind::Rss, ("rss", Some(1), 1), None),
        ("rss_2", DesignKind::Rss, ("rss", Some(2), 2), None),
        ("async_1x1", DesignKind::Clusters, ("async", Some(2), 1), None),
        ("async_1x1_easy", DesignKind::Clusters, ("async", Some(2), 1), Some(EASY)),
    ];
    let mut variants = Vec::new();
    for (name, shape, case, rate) in cases {
        let fitted = fit(case)?;
        // With fewer cores it would be another measurement.
        if fitted.instead.is_none() {
            variants.push((name, shape, fitted, rate));
        }
    }
    let load = OWN.loads[0];
    let mut traffic = RigTraffic::new(packets(points, flows), flows, zipf, load.frame)?;
    let all = traffic.packets() * laps;
    let wires =
        variants.iter().map(|(_, _, case, _)| wire(&OWN, None, case.queues, ReplayLength::Packets(all)));
    expect(wires);
    let (times, rounds) = in_turns(&variants, points.seconds, |(_, _, case, rate)| {
        measure(&mut traffic, &setting(case, *rate, all, load.burst)?)
    })?;
    let results = variants.into_iter().zip(times).zip(rounds);
    Ok(results
        .map(|(((name, design, case, rate), rounds_ns), rounds)| {
            let step = |of: fn(&StepNs) -> f64| {
                median(&rounds.iter().map(|measured| of(&measured.step_ns())).collect::<Vec<_>>())
            };
            let memory_bytes = rounds.last().map(|measured| measured.memory_bytes);
            let line = BenchResult {
                bench: "scale",
                variant: name.to_owned(),
                params: vec![
                    ("flows", json!(flows)),
                    ("zipf", json!(zipf)),
                    ("frame", json!(load.frame)),
                    ("cores", json!(case.plan.threads())),
                    ("burst", json!(load.burst)),
                    ("rate", json!(rate)),
                ],
                packets: rounds.last().map_or(all, |measured| measured.wire.offered),
                rounds_ns,
                memory_bytes,
                checked: rounds.iter().all(|measured| measured.is_right),
                more: rounds.last().map(RunMeasurement::members).unwrap_or_default(),
            };
            FullSpeed {
                line,
                flows,
                zipf,
                design,
                threads: case.plan.threads(),
                is_easy: rate.is_some(),
                receive: step(|steps| steps.receive),
                free: step(|steps| steps.free),
                parse: step(|steps| steps.parse),
                process: step(|steps| steps.process),
                hand_over: step(|steps| steps.hand_over),
            }
        })
        .collect())
}

fn setting(case: &FeasibleCase, rate: Option<&str>, all: u64, burst: usize) -> Result<RigSetting, String> {
    let rate = rate.map(|rate| rate.parse().map_err(|error| format!("{rate}: {error}"))).transpose()?;
    let packets = if rate.is_some() { all.min(MOST_AT_A_RATE) } else { all };
    Ok(RigSetting {
        wire: wire(&OWN, rate, case.queues, ReplayLength::Packets(packets)),
        plan: case.plan.clone(),
        kept: CountingStructure::plain(),
        sampling: None,
        every: ONE_WINDOW,
        between_cores: OWN.between_cores,
        burst,
        warm_up: 0,
        timed: true,
    })
}
