//! `edison bench scale`: what a second core gives, what handing over costs, and what windows do, as fast as it goes and with
//! nothing lost.

use super::rig::{Measured, Setting, Traffic, measure};
use super::{ONE_WINDOW, plan, rounded, size, wire};
use crate::compare::in_turn;
use crate::{Line, Points};
use engine::{Design, Every};
use port::wire::Length;
use serde_json::json;

/// Name, design, cores, queues, window, rate.
type Variant = (&'static str, &'static str, Option<usize>, usize, Every, Option<&'static str>);

/// A rate that a worker keeps up with, so that handing over waits for nobody.
const EASY: &str = "6Mpps";

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    let (flows, packets) = size(points);
    // Most packets are of flows that are there, as on a link.
    let packets = if points.packets.is_some() { packets } else { 4 * packets };
    let zipf = points.zipf.unwrap_or(1.0);
    let mut traffic = Traffic::new(packets, flows, zipf, 64)?;
    let all = traffic.packets();
    let variants: [Variant; 6] = [
        ("rss_1", "rss", Some(1), 1, ONE_WINDOW, None),
        ("rss_2", "rss", Some(2), 2, ONE_WINDOW, None),
        ("async_1x1", "async", Some(2), 1, ONE_WINDOW, None),
        ("sync_1x1", "sync", Some(2), 1, ONE_WINDOW, None),
        ("rss_1_windows", "rss", Some(1), 1, Every::Packets((all / 4).max(1)), None),
        ("async_1x1_easy", "async", Some(2), 1, ONE_WINDOW, Some(EASY)),
    ];
    let mut results: Vec<Vec<Measured>> = variants.iter().map(|_| Vec::new()).collect();
    let mut fault = None;
    let mut numbered: Vec<_> = variants.iter().enumerate().collect();
    let times =
        in_turn(&mut numbered, points.seconds, |(number, variant)| match one(&mut traffic, variant) {
            Ok(measured) => {
                let time = measured.receiving_ns();
                results[*number].push(measured);
                time
            }
            Err(error) => {
                fault = Some(error);
                f64::NAN
            }
        });
    if let Some(error) = fault {
        return Err(error);
    }
    let median = |number: usize| times[number][times[number].len() / 2];
    let single = median(0);
    for (number, (name, _, _, queues, _, rate)) in variants.iter().enumerate() {
        let Some(last) = results[number].last() else { continue };
        let [receive, parse, count, hand_over] = last.step_ns();
        let mut more = vec![
            ("ring_full", json!(last.ring_full)),
            ("times_one_core", json!(rounded(single / median(number)))),
            ("receive_ns", json!(rounded(receive))),
            ("parse_ns", json!(rounded(parse))),
            ("processing_ns", json!(rounded(count))),
            ("hand_over_ns", json!(rounded(hand_over))),
            ("busy", json!(last.busy())),
        ];
        if last.windows > 1 {
            let turn_ns = (median(number) - single) / (last.windows - 1) as f64;
            more.push(("turn_ms", json!(rounded(turn_ns / 1e6))));
            more.push(("turn_percent_of_10s", json!(rounded(turn_ns / 1e8))));
        }
        out(Line {
            bench: "scale",
            variant: (*name).to_owned(),
            params: vec![
                ("flows", json!(flows)),
                ("zipf", json!(zipf)),
                ("queues", json!(queues)),
                ("rate", json!(rate)),
            ],
            packets: all,
            rounds_ns: times[number].clone(),
            memory_bytes: Some(last.memory_bytes),
            checked: results[number].iter().all(|measured| measured.is_right),
            more,
        });
    }
    Ok(())
}

fn one(traffic: &mut Traffic, variant: &Variant) -> Result<Measured, String> {
    let (_, design, cores, queues, every, rate) = *variant;
    let design: Design = design.parse()?;
    let rate = rate.map(|rate| rate.parse().map_err(|error| format!("{rate}: {error}"))).transpose()?;
    let setting = Setting {
        wire: wire(rate, queues, Length::Once, None),
        plan: plan(design, cores, queues)?,
        every,
        warm_up: 0,
    };
    measure(traffic, &setting)
}
