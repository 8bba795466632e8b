//! `edison bench scale`: what a second core gives, what handing over costs, and what windows do, as fast as it goes and with
//! nothing lost.

use super::fit::{Fitted, fit};
use super::rig::{Measured, Setting, Traffic, expect, measure};
use super::{ONE_WINDOW, loads, packets, rounded, settings, wire};
use crate::compare::{in_turn, median, median_ratio};
use crate::preset::{Case, Preset};
use crate::{Line, Points};
use engine::Every;
use port::wire::Length;
use serde_json::json;

/// Name, design with cores and queues, window, rate.
type Variant = (&'static str, Case, Every, Option<&'static str>);

/// A rate that a worker keeps up with, so that handing over waits for nobody.
const EASY: &str = "6Mpps";

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    let preset = settings(points);
    // Of a paper's loads the first; as fast as it goes, whatever its rate.
    let load = loads(points)[0];
    let packets = packets(points, load.flows);
    // Most packets are of flows that are there, as on a link.
    let packets = if points.packets.is_some() { packets } else { 4 * packets };
    let mut traffic = Traffic::new(packets, load.flows, load.zipf, load.frame)?;
    let all = traffic.packets();
    let variants: [Variant; 6] = [
        ("rss_1", ("rss", Some(1), 1), ONE_WINDOW, None),
        ("rss_2", ("rss", Some(2), 2), ONE_WINDOW, None),
        ("async_1x1", ("async", Some(2), 1), ONE_WINDOW, None),
        ("sync_1x1", ("sync", Some(2), 1), ONE_WINDOW, None),
        ("rss_1_windows", ("rss", Some(1), 1), Every::Packets((all / 4).max(1)), None),
        ("async_1x1_easy", ("async", Some(2), 1), ONE_WINDOW, Some(EASY)),
    ];
    let fitted = variants.iter().map(|(_, case, ..)| fit(*case)).collect::<Result<Vec<_>, _>>()?;
    expect(fitted.iter().map(|case| wire(preset, None, case.queues, Length::Once)));
    let mut results: Vec<Vec<Measured>> = variants.iter().map(|_| Vec::new()).collect();
    let mut fault = None;
    let mut numbered: Vec<_> = variants.iter().zip(&fitted).enumerate().collect();
    let times = in_turn(&mut numbered, points.seconds, |(number, (variant, case))| {
        match one(&mut traffic, preset, load.burst, variant, case) {
            Ok(measured) => {
                let time = measured.receiving_ns();
                results[*number].push(measured);
                time
            }
            Err(error) => {
                fault = Some(error);
                f64::NAN
            }
        }
    });
    if let Some(error) = fault {
        return Err(error);
    }
    let single = median(&times[0]);
    for (number, ((name, _, _, rate), case)) in variants.iter().zip(&fitted).enumerate() {
        let Some(last) = results[number].last() else { continue };
        let mut params = vec![
            ("flows", json!(load.flows)),
            ("zipf", json!(load.zipf)),
            ("queues", json!(case.queues)),
            ("rate", json!(rate)),
        ];
        params.extend(preset.params(load.burst));
        let mut more = vec![
            ("ring_full", json!(last.ring_full)),
            ("times_one_core", json!(rounded(median_ratio(&times[0], &times[number])))),
        ];
        more.extend(last.members());
        more.extend(case.instead.as_ref().map(|instead| ("instead", json!(instead))));
        if last.windows > 1 {
            let turn_ns = (median(&times[number]) - single) / (last.windows - 1) as f64;
            more.push(("turn_ms", json!(rounded(turn_ns / 1e6))));
            more.push(("turn_percent_of_10s", json!(rounded(turn_ns / 1e8))));
        }
        out(Line {
            bench: "scale",
            variant: (*name).to_owned(),
            params,
            packets: all,
            rounds_ns: times[number].clone(),
            memory_bytes: Some(last.memory_bytes),
            checked: results[number].iter().all(|measured| measured.is_right),
            more,
        });
    }
    Ok(())
}

fn one(
    traffic: &mut Traffic,
    preset: &Preset,
    burst: usize,
    (_, _, every, rate): &Variant,
    case: &Fitted,
) -> Result<Measured, String> {
    let rate = rate.map(|rate| rate.parse().map_err(|error| format!("{rate}: {error}"))).transpose()?;
    let setting = Setting {
        wire: wire(preset, rate, case.queues, Length::Once),
        plan: case.plan.clone(),
        sketches: None,
        every: *every,
        burst,
        warm_up: 0,
        timed: true,
    };
    measure(traffic, &setting)
}
