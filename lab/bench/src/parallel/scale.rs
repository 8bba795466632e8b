//! `edison-lab bench scale`: the gain of a second core, the cost of handing over, and the effect of windows, at
//! full speed and without loss.

use super::fit::{FeasibleCase, fit};
use super::rig::{CountingStructure, RigSetting, RigTraffic, RunMeasurement, expect, measure};
use super::turns::in_turns;
use super::{ONE_WINDOW, loads, packets, rounded, settings, wire};
use crate::compare::{median, median_ratio};
use crate::preset::setting_params;
use crate::{BenchResult, Points};
use engine::{DesignCase, Every, OfferedLoad, Preset};
use port::wire::ReplayLength;
use serde_json::json;

/// The passes of a run over the traffic: most packets belong to existing flows, as on a link.
const LAPS: u64 = 48;
/// Packets of a run at a set rate, whose duration is that of their arrival.
const MOST_AT_A_RATE: u64 = 16_000_000;

/// Rates that a worker keeps up with, so that handing over never waits: polls find one or two packets, and
/// more.
const EASY: [(&str, &str); 2] = [("async_1x1_easy", "6Mpps"), ("async_1x1_busy", "15Mpps")];

struct ScaleVariant {
    name: &'static str,
    case: FeasibleCase,
    every: Every,
    rate: Option<&'static str>,
}

impl ScaleVariant {
    fn new(name: &'static str, case: DesignCase) -> Result<Self, String> {
        Ok(Self { name, case: fit(case)?, every: ONE_WINDOW, rate: None })
    }
}

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    // Of a paper's loads the first; as fast as it goes, whatever its rate.
    let load = loads(points)[0];
    let rss =
        || [ScaleVariant::new("rss_1", ("rss", Some(1), 1)), ScaleVariant::new("rss_2", ("rss", Some(2), 2))];
    let mut variants = rss().into_iter().collect::<Result<Vec<_>, _>>()?;
    variants.push(ScaleVariant::new("async_1x1", ("async", Some(2), 1))?);
    variants.push(ScaleVariant::new("sync_1x1", ("sync", Some(2), 1))?);
    let all = packets(points, load.flows) * LAPS;
    let windows = ScaleVariant::new("rss_1_windows", ("rss", Some(1), 1))?;
    variants.push(ScaleVariant { every: Every::Packets((all / 4).max(1)), ..windows });
    for (name, rate) in EASY {
        variants.push(ScaleVariant { rate: Some(rate), ..ScaleVariant::new(name, ("async", Some(2), 1))? });
    }
    compare(points, load, &variants, out)?;
    if load.zipf != 0.0 && points.zipf.is_none() {
        // No flow has a share that matters: queues get equal parts.
        let uniform = OfferedLoad { zipf: 0.0, ..load };
        compare(points, uniform, &rss().into_iter().collect::<Result<Vec<_>, _>>()?, out)?;
    }
    Ok(())
}

/// The variants in turn; the first is what the others are compared with.
fn compare(
    points: &Points,
    load: OfferedLoad,
    variants: &[ScaleVariant],
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let preset = settings(points);
    let mut traffic = RigTraffic::new(packets(points, load.flows), load.flows, load.zipf, load.frame)?;
    expect(variants.iter().map(|variant| wire(preset, None, variant.case.queues, ReplayLength::Once)));
    let (times, results) =
        in_turns(variants, points.seconds, |variant| one(&mut traffic, preset, load.burst, variant))?;
    for ((variant, times_ns), results) in variants.iter().zip(&times).zip(&results) {
        out(line(preset, load, variant, [&times[0], times_ns], results));
    }
    Ok(())
}

/// `base_ns`, `times_ns`: of the first variant and of this one, by round.
fn line(
    preset: &Preset,
    load: OfferedLoad,
    variant: &ScaleVariant,
    [base_ns, times_ns]: [&Vec<f64>; 2],
    results: &[RunMeasurement],
) -> BenchResult {
    let last = results.last().expect("in_turn runs each variant at least once");
    let packets = last.wire.offered;
    let mut params = vec![
        ("flows", json!(load.flows)),
        ("zipf", json!(load.zipf)),
        ("queues", json!(variant.case.queues)),
        ("rate", json!(variant.rate)),
    ];
    params.extend(setting_params(preset, load.burst));
    let mut more = vec![("ring_full", json!(last.ring_full))];
    if variant.rate.is_none() {
        let all_ns = results.iter().map(|measured| packets as f64 / measured.rate_while_all_receive());
        more.extend([
            ("times_one_core", json!(rounded(median_ratio(base_ns, times_ns)))),
            (
                "times_one_core_while_all_receive",
                json!(rounded(median_ratio(base_ns, &all_ns.collect::<Vec<_>>()))),
            ),
        ]);
    }
    more.extend(last.members());
    more.extend(variant.case.instead.as_ref().map(|instead| ("instead", json!(instead))));
    if last.windows > 1 {
        let turn_ns = (median(times_ns) - median(base_ns)) / (last.windows - 1) as f64;
        more.push(("turn_ms", json!(rounded(turn_ns / 1e6))));
        more.push(("turn_percent_of_10s", json!(rounded(turn_ns / 1e8))));
    }
    BenchResult {
        bench: "scale",
        variant: variant.name.to_owned(),
        params,
        packets,
        rounds_ns: times_ns.clone(),
        memory_bytes: Some(last.memory_bytes),
        checked: results.iter().all(|measured| measured.is_right),
        more,
    }
}

fn one(
    traffic: &mut RigTraffic,
    preset: &Preset,
    burst: usize,
    variant: &ScaleVariant,
) -> Result<RunMeasurement, String> {
    let rate =
        variant.rate.map(|rate| rate.parse().map_err(|error| format!("{rate}: {error}"))).transpose()?;
    let all = traffic.packets() * LAPS;
    let packets = if rate.is_some() { all.min(MOST_AT_A_RATE) } else { all };
    let setting = RigSetting {
        wire: wire(preset, rate, variant.case.queues, ReplayLength::Packets(packets)),
        plan: variant.case.plan.clone(),
        kept: CountingStructure::plain(),
        sampling: None,
        every: variant.every,
        between_cores: preset.between_cores,
        burst,
        warm_up: 0,
        timed: true,
    };
    measure(traffic, &setting)
}
