//! Points over the software wire that are compared with each other, whichever bench or study asks for them.

use super::fit::{FeasibleCase, fit};
use super::rig::{CountingStructure, RigSetting, RigTraffic, RunMeasurement, expect, measure};
use super::sketches::{SketchKind, WorkerSketches};
use super::{ONE_WINDOW, rounded};
use crate::HashTableKind;
use crate::compare::spread;
use crate::{BenchResult, line::to_digits};
use engine::{DesignCase, OfferedLoad, Preset, StatePlacement};
use flow::Metric;
use flowtable::MeasuredParts;
use port::wire::{ReplayLength, WireSpec};
use serde_json::json;

/// The data that the workers of a point keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TallyKind {
    /// The number of packets, and nothing of flows.
    Packets,
    /// Exact flow tables.
    Flows,
    /// Exact flow tables with statistics of the interleaving gap, as for `--gap`: `mean`, `p99`.
    Gaps(&'static str),
    /// One of FloWatcher's flow tables for each worker.
    Table(HashTableKind),
    /// A sketch with this many entries a row ([`SketchKind::default_width`]).
    Sketch(SketchKind, usize),
}

/// A design at one load over the software wire.
#[derive(Clone, Debug, PartialEq)]
pub struct WirePoint {
    /// The name in its line.
    pub variant: String,
    /// `rss`, `sync`, `2x1`, …, then how packets are split (`position`) and where flows are kept (`shared`), if not by hash and separate.
    pub design: &'static str,
    /// Cores that threads are pinned to, fewer where there are fewer; `None`: as many threads as the design has, wherever there is room.
    pub cores: Option<usize>,
    /// Receive queues.
    pub queues: usize,
    /// The data that workers keep.
    pub counting: TallyKind,
    /// Different flows.
    pub flows: u64,
    /// Zipf exponent; 0 is uniform.
    pub zipf: f64,
    /// Bytes of a frame with its check sequence.
    pub frame: u32,
    /// The rate of arrivals: `72Mpps`, `10Gbps`.
    pub rate: &'static str,
    /// The largest number of frames of one poll.
    pub burst: usize,
    /// Descriptors of a receive queue.
    pub ring: usize,
    /// Packets that may wait between a receiver and each worker.
    pub between_cores: usize,
    /// Mbufs of a receive queue's pool; `None`: frames come without. Builds without DPDK have none.
    pub mbufs: Option<u32>,
    /// Share of packets dropped and nanoseconds of an update that a paper's table has for it.
    pub paper: Option<[f64; 2]>,
}

impl WirePoint {
    /// Flow tables at the first load of a paper's settings.
    pub fn new(preset: &Preset, design: &'static str, cores: Option<usize>, queues: usize) -> Self {
        let mut point = Self::at(preset, (design, cores, queues), preset.loads[0]);
        point.variant = design.replace(' ', "_");
        point
    }

    pub(super) fn at(preset: &Preset, (design, cores, queues): DesignCase, load: OfferedLoad) -> Self {
        let OfferedLoad { flows, zipf, frame, rate, burst } = load;
        Self {
            variant: String::new(),
            design,
            cores,
            queues,
            counting: TallyKind::Flows,
            flows,
            zipf,
            frame,
            rate,
            burst,
            ring: preset.ring,
            between_cores: preset.between_cores,
            mbufs: preset.mbufs,
            paper: None,
        }
    }

    fn wire(&self, queues: usize) -> Result<WireSpec, String> {
        let rate = self.rate.parse().map_err(|error| format!("{}: {error}", self.rate))?;
        let arrivals = traffic::ArrivalProcess::Constant;
        Ok(WireSpec {
            rate: Some(rate),
            steps: None,
            arrivals,
            queues,
            ring: self.ring,
            length: ReplayLength::Once,
            mbufs: self.mbufs,
            pools: None,
            seed: 1,
        })
    }

    fn setting(&self, case: &FeasibleCase, ns: u64) -> Result<RigSetting, String> {
        let mut plan = case.plan.clone();
        let kept = match self.counting {
            TallyKind::Packets => CountingStructure::Packets,
            TallyKind::Table(kind) => CountingStructure::Table(kind),
            TallyKind::Flows => CountingStructure::plain(),
            TallyKind::Gaps(list) => {
                let spec = list.parse().map_err(|error| format!("{list}: {error}"))?;
                let statistics = [Some((Metric::Gap, spec)), None, None];
                CountingStructure::Flows(Box::new(MeasuredParts { statistics, ..MeasuredParts::default() }))
            }
            TallyKind::Sketch(sketch, width) => {
                // The flow tables that there are not have no state.
                let state = std::mem::replace(&mut plan.state, StatePlacement::Separate);
                CountingStructure::Sketches(WorkerSketches { size: (sketch, width), state })
            }
        };
        Ok(RigSetting {
            wire: WireSpec { length: ReplayLength::Nanoseconds(ns), ..self.wire(case.queues)? },
            plan,
            kept,
            sampling: None,
            every: ONE_WINDOW,
            between_cores: self.between_cores,
            burst: self.burst,
            // What rings refused is known of the whole run only.
            warm_up: 0,
            timed: true,
        })
    }
}

/// The effort of a comparison: how much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Frames of one pass of the traffic; `None`: four for each flow, one million at least.
    pub packets: Option<u64>,
    /// Rounds, in each of which every point is measured once.
    pub rounds: usize,
    /// Milliseconds of arrivals in each.
    pub milliseconds: u64,
}

impl Effort {
    fn packets(&self, flows: u64) -> u64 {
        self.packets.unwrap_or((4 * flows).clamp(1_000_000, 1 << 23))
    }
}

/// Measures the points in turn, and again in each round: a disturbance of the machine affects all of them. A line has the
/// figures of the round with the median loss; `checked` is of all rounds.
///
/// # Errors
/// One line: a point is not possible, or the traffic takes too much memory.
pub fn measure_wire(points: &[WirePoint], effort: &Effort) -> Result<Vec<BenchResult>, String> {
    let cases = points.iter().map(|point| fit((point.design, point.cores, point.queues)));
    let cases = cases.collect::<Result<Vec<_>, _>>()?;
    expect(points.iter().zip(&cases).filter_map(|(point, case)| point.wire(case.queues).ok()));
    let mut traffics: Vec<((u64, f64, u32), RigTraffic)> = Vec::new();
    let mut numbers = Vec::with_capacity(points.len());
    for point in points {
        let kind = (point.flows, point.zipf, point.frame);
        let known = traffics.iter().position(|(known, _)| *known == kind);
        let number = match known {
            Some(number) => number,
            None => {
                let traffic =
                    RigTraffic::new(effort.packets(point.flows), point.flows, point.zipf, point.frame)?;
                traffics.push((kind, traffic));
                traffics.len() - 1
            }
        };
        numbers.push(number);
    }
    let mut rounds: Vec<Vec<RunMeasurement>> = points.iter().map(|_| Vec::new()).collect();
    for _ in 0..effort.rounds.max(1) {
        for (at, (point, case)) in points.iter().zip(&cases).enumerate() {
            let setting = point.setting(case, effort.milliseconds.max(1) * 1_000_000)?;
            rounds[at].push(measure(&mut traffics[numbers[at]].1, &setting)?);
        }
    }
    Ok(points
        .iter()
        .zip(&cases)
        .zip(rounds)
        .map(|((point, case), rounds)| line(point, case, rounds))
        .collect())
}

/// The median of the rounds by loss.
fn line(point: &WirePoint, case: &FeasibleCase, mut measured: Vec<RunMeasurement>) -> BenchResult {
    let FeasibleCase { plan, queues, instead } = case;
    let checked = measured.iter().all(|measured| measured.is_right);
    measured.sort_by(|a, b| a.loss()[1].total_cmp(&b.loss()[1]));
    let median = &measured[measured.len() / 2];
    let [all, clock_stopped] = median.loss();
    let losses: Vec<f64> = measured.iter().map(|measured| measured.loss()[1]).collect();
    let spread_of = |of: fn(&RunMeasurement) -> f64| {
        json!(spread(&measured.iter().map(of).collect::<Vec<_>>()).map(rounded))
    };
    let params = vec![
        ("flows", json!(point.flows)),
        ("zipf", json!(point.zipf)),
        ("frame", json!(point.frame)),
        ("rate", json!(point.rate)),
        ("queues", json!(queues)),
        ("threads", json!(plan.threads())),
        ("burst", json!(point.burst)),
        ("ring", json!(point.ring)),
        ("between_cores", json!(point.between_cores)),
        ("mbufs", json!(point.mbufs)),
    ];
    let percent = |share: f64| json!(rounded(100.0 * share));
    let mut more = vec![
        ("oversubscribed", json!(plan.oversubscribed)),
        ("loss", json!(to_digits(all, 8))),
        ("loss_clock_stopped", json!(to_digits(clock_stopped, 8))),
        ("loss_clock_stopped_spread", json!(spread(&losses).map(|loss| to_digits(loss, 8)))),
        ("drop_percent", percent(all)),
        ("drop_percent_clock_stopped", percent(clock_stopped)),
        ("drop_percent_clock_stopped_spread", json!(spread(&losses).map(|loss| rounded(100.0 * loss)))),
        ("worst_drop_percent_clock_stopped", percent(losses[losses.len() - 1])),
        ("imissed", json!(median.wire.imissed)),
        ("ring_full", json!(median.ring_full)),
        ("offered", json!(median.wire.offered)),
    ];
    more.extend(median.members());
    more.extend([
        ("receive_ns_spread", spread_of(|measured| measured.step_ns().receive)),
        ("parse_ns_spread", spread_of(|measured| measured.step_ns().parse)),
        ("hand_over_ns_spread", spread_of(|measured| measured.step_ns().hand_over)),
        ("free_ns_spread", spread_of(|measured| measured.step_ns().free)),
        ("processing_ns_spread", spread_of(|measured| measured.step_ns().process)),
        ("delay_ns_spread", spread_of(|measured| measured.step_ns().sum())),
        ("gaps", json!(median.wire.gaps)),
        ("gap_ms", json!(rounded(median.wire.gap_ns as f64 / 1e6))),
    ]);
    if let Some([dropped, processing_ns]) = point.paper {
        more.push(("paper_drop_percent", json!(rounded(100.0 * dropped))));
        more.push(("paper_processing_ns", json!(rounded(processing_ns))));
    }
    more.extend(instead.as_ref().map(|instead| ("instead", json!(instead))));
    BenchResult {
        bench: "designs",
        variant: point.variant.clone(),
        params,
        packets: median.wire.delivered.max(1),
        rounds_ns: vec![median.receiving_ns()],
        // Of tables and rings: a sketch is the bench's own.
        memory_bytes: matches!(point.counting, TallyKind::Flows | TallyKind::Gaps(_))
            .then_some(median.memory_bytes),
        checked,
        more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flowatcher() -> &'static Preset {
        Preset::find("flowatcher").expect("its settings")
    }

    /// Without mbufs: DPDK is started once in a process, by other tests.
    fn small(design: &'static str, counting: TallyKind) -> WirePoint {
        WirePoint {
            counting,
            flows: 500,
            rate: "200kpps",
            mbufs: None,
            ..WirePoint::new(flowatcher(), design, None, 1)
        }
    }

    const EFFORT: Effort = Effort { packets: Some(4000), rounds: 2, milliseconds: 30 };

    #[test]
    fn points_are_measured_in_the_order_given_and_checked() {
        let points = [
            small("rss", TallyKind::Packets),
            small("rss", TallyKind::Flows),
            small("rss", TallyKind::Gaps("p99")),
            small("rss", TallyKind::Table(HashTableKind::Double)),
            small("rss", TallyKind::Table(HashTableKind::Combined)),
            small("1x2", TallyKind::Table(HashTableKind::List)),
            small("1x2 position shared", TallyKind::Flows),
            small("rss", TallyKind::Sketch(SketchKind::SimpleHashTable, 1 << 10)),
            WirePoint { frame: 754, ..small("rss", TallyKind::Sketch(SketchKind::SimpleHashTable, 1 << 16)) },
        ];
        let lines = measure_wire(&points, &EFFORT).expect("possible");
        assert_eq!(lines.len(), points.len());
        for (line, point) in lines.iter().zip(&points) {
            let json = line.json();
            assert_eq!(json["variant"], point.variant.as_str());
            assert_eq!(json["checked"], true, "{json}");
            assert_eq!(json["params"]["frame"], point.frame);
            // What arrived in 30 ms at this rate.
            assert_eq!(json["offered"], 6000, "{json}");
            let loss = json["loss_clock_stopped"].as_f64().expect("a share");
            let [least, most] =
                [0, 1].map(|at| json["loss_clock_stopped_spread"][at].as_f64().expect("a share"));
            assert!((least..=most).contains(&loss), "{json}");
        }
    }

    #[test]
    fn a_table_is_as_wide_as_the_point_says() {
        // In a table of one entry all flows share a counter: no estimate is the flow's own, and the check, which knows
        // the width, agrees nevertheless.
        let points = [small("rss", TallyKind::Sketch(SketchKind::SimpleHashTable, 1))];
        assert!(measure_wire(&points, &EFFORT).expect("possible")[0].checked);
    }

    #[test]
    fn what_is_not_possible_is_said_in_one_line() {
        for point in [
            WirePoint { rate: "fast", ..small("rss", TallyKind::Flows) },
            small("rss somehow", TallyKind::Flows),
            small("rss", TallyKind::Gaps("p101")),
        ] {
            let error = measure_wire(std::slice::from_ref(&point), &EFFORT).expect_err("impossible");
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
        }
    }
}
