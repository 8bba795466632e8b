//! `edison-lab bench rate`: the highest rate at which one core loses no more than a bound, by bisection (RFC 2544, section
//! 26.1, with a bound instead of none).

use super::fit::fit;
use super::rig::{CountingStructure, RigSetting, RigTraffic, RunMeasurement, expect, measure};
use super::{ONE_WINDOW, loads, packets, rounded, settings, wire};
use crate::preset::setting_params;
use crate::{BenchResult, Points};
use engine::{OfferedLoad, Preset, ResolvedDesign};
use notation::Rate;
use port::wire::ReplayLength;
use serde_json::json;

/// Share of the packets that may be lost.
const BOUND: f64 = 1e-5;
/// Megapackets per second between which the rate is searched, and the precision of the search.
const RANGE_MPPS: (f64, f64) = (2.0, 80.0);
const NEAR: f64 = 0.04;
/// The machine may have caused the loss in a trial; a rate is rejected after this many failures.
const TRIALS: usize = 4;
/// The length of a trial, nanoseconds, after two passes over the traffic, in which flows begin.
const TRIAL_NS: u64 = 700_000_000;

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let preset = settings(points);
    // Of a paper's loads the first, which is of its smallest frames.
    let load = loads(points)[0];
    let packets = packets(points, load.flows);
    let mut traffic = RigTraffic::new(packets, load.flows, load.zipf, load.frame)?;
    let case = fit(("rss", Some(1), 1))?;
    let wires = variants(preset);
    expect(wires.iter().map(|(_, preset)| wire(preset, None, 1, ReplayLength::Once)));
    for (variant, preset) in &wires {
        let mut search =
            RateSearch { traffic: &mut traffic, plan: &case.plan, preset, load: &load, packets, trials: 0 };
        let found = search.highest()?;
        let Some((mpps, best)) = found else {
            return Err(format!("{variant}: more than {BOUND:e} of the packets were lost at every rate"));
        };
        let timed = search.run(mpps, true)?;
        let trials = search.trials;
        let mut params = vec![
            ("flows", json!(load.flows)),
            ("zipf", json!(load.zipf)),
            ("cores", json!(1)),
            ("frame", json!(load.frame)),
        ];
        params.extend(setting_params(preset, load.burst));
        let mut more = vec![
            ("flows_seen", json!(traffic.flows())),
            ("loss_bound", json!(BOUND)),
            ("loss", json!(best.loss()[0])),
            ("loss_clock_stopped", json!(best.loss()[1])),
            ("gaps", json!(best.wire.gaps)),
            ("gap_ms", json!(rounded(best.wire.gap_ns as f64 / 1e6))),
            ("trials", json!(trials)),
        ];
        more.extend(timed.members());
        out(BenchResult {
            bench: "rate",
            variant: (*variant).to_owned(),
            params,
            packets: best.wire.offered,
            rounds_ns: vec![best.wire.offered as f64 * 1e3 / mpps],
            memory_bytes: Some(best.memory_bytes),
            checked: best.is_right && timed.is_right,
            more,
        });
    }
    Ok(())
}

/// Looks for the rate on one wire.
struct RateSearch<'a> {
    traffic: &'a mut RigTraffic,
    plan: &'a ResolvedDesign,
    preset: &'a Preset,
    load: &'a OfferedLoad,
    packets: u64,
    trials: usize,
}

impl RateSearch<'_> {
    /// The highest rate that passed, in megapackets per second, and its run; none if no rate did. Steps are
    /// not timed meanwhile, as in a run that measures traffic.
    fn highest(&mut self) -> Result<Option<(f64, RunMeasurement)>, String> {
        let (mut low, mut high) = RANGE_MPPS;
        let mut best = None;
        let mut is_right = true;
        while high / low > 1.0 + NEAR {
            let middle = (low * high).sqrt();
            let mut has_passed = false;
            for _ in 0..TRIALS {
                let measured = self.run(middle, false)?;
                self.trials += 1;
                is_right &= measured.is_right;
                if measured.loss()[1] <= BOUND {
                    (has_passed, best) = (true, Some((middle, measured)));
                    break;
                }
            }
            *(if has_passed { &mut low } else { &mut high }) = middle;
        }
        Ok(best.map(|(mpps, measured)| (mpps, RunMeasurement { is_right, ..measured })))
    }

    fn run(&mut self, mpps: f64, timed: bool) -> Result<RunMeasurement, String> {
        let rate: Rate = format!("{mpps:.3}Mpps").parse().map_err(|error| format!("{error}"))?;
        let warm_up_ns = (2.0 * self.packets as f64 * 1e3 / mpps) as u64;
        let setting = RigSetting {
            wire: wire(self.preset, Some(rate), 1, ReplayLength::Nanoseconds(warm_up_ns + TRIAL_NS)),
            plan: self.plan.clone(),
            kept: CountingStructure::plain(),
            sampling: None,
            every: ONE_WINDOW,
            between_cores: self.preset.between_cores,
            burst: self.load.burst,
            warm_up: 2 * self.packets,
            timed,
        };
        measure(self.traffic, &setting)
    }
}

/// Mbufs of a queue in addition to Edison's own settings, which have none.
const MBUFS: u32 = 8191;

/// Edison's own settings without mbufs and with them; a paper's settings unchanged.
fn variants(preset: &'static Preset) -> Vec<(&'static str, Preset)> {
    let with = |mbufs| Preset { mbufs, ..*preset };
    match preset.mbufs {
        None => vec![("wire", with(None)), ("wire_mbufs", with(Some(MBUFS)))],
        Some(mbufs) => vec![("wire_mbufs", with(Some(mbufs)))],
    }
}
