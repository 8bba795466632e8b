//! `edison bench designs`: what each design loses and costs at a set rate.

use super::rig::{Setting, Traffic, measure};
use super::{ONE_WINDOW, plan, rounded, size, wire};
use crate::{Line, Points};
use engine::Design;
use port::wire::Length;
use serde_json::json;

/// Frame sizes of Wu et al., with the check sequence, and the rate that arrives: all that 100 Gbit/s carry of the longer
/// ones, and for the shortest a rate that is more than one core can count.
const LOADS: [(u32, &str); 3] = [(64, "40Mpps"), (754, "100Gbps"), (1514, "100Gbps")];
/// Each design, cores asked for, and queues.
const DESIGNS: [(&str, Option<usize>, usize); 8] = [
    ("rss", Some(1), 1),
    ("rss", Some(2), 2),
    ("sync", Some(2), 1),
    ("async", Some(2), 1),
    ("pipeline", Some(2), 1),
    ("cooperative", Some(1), 1),
    ("1x2", None, 1),
    ("2x1", None, 2),
];
const ROUNDS: usize = 3;

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    let (flows, packets) = size(points);
    // All rounds of one load take about as long as a comparison may.
    let load_ns = (points.seconds * 1e9 / (ROUNDS * DESIGNS.len()) as f64) as u64;
    let zipf = points.zipf.unwrap_or(1.0);
    for (frame, rate) in LOADS {
        let mut traffic = Traffic::new(packets, flows, zipf, frame)?;
        let parsed = rate.parse().map_err(|error| format!("{rate}: {error}"))?;
        // Designs in turn, as in every comparison.
        let mut rounds: Vec<Vec<_>> = DESIGNS.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for ((name, cores, queues), measured) in DESIGNS.iter().zip(&mut rounds) {
                let design: Design = name.parse()?;
                let setting = Setting {
                    wire: wire(Some(parsed), *queues, Length::Nanoseconds(load_ns.max(10_000_000)), None),
                    plan: plan(design, *cores, *queues)?,
                    every: ONE_WINDOW,
                    // What rings refused is known of the whole run only.
                    warm_up: 0,
                };
                measured.push((measure(&mut traffic, &setting)?, setting.plan));
            }
        }
        for ((name, _, queues), mut measured) in DESIGNS.iter().zip(rounds) {
            let checked = measured.iter().all(|(measured, _)| measured.is_right);
            measured.sort_by(|(a, _), (b, _)| a.loss()[1].total_cmp(&b.loss()[1]));
            let worst = measured.last().map_or(0.0, |(measured, _)| measured.loss()[1]);
            let Some((median, plan)) = measured.get(ROUNDS / 2) else { continue };
            let [receive, parse, count, hand_over] = median.step_ns();
            out(Line {
                bench: "designs",
                variant: format!("{name}_{}", plan.threads()),
                params: vec![
                    ("flows", json!(flows)),
                    ("zipf", json!(zipf)),
                    ("frame", json!(frame)),
                    ("rate", json!(rate)),
                    ("queues", json!(queues)),
                    ("threads", json!(plan.threads())),
                ],
                packets: median.wire.delivered.max(1),
                rounds_ns: vec![median.receiving_ns()],
                memory_bytes: Some(median.memory_bytes),
                checked,
                more: vec![
                    ("oversubscribed", json!(plan.oversubscribed)),
                    ("drop_percent", json!(rounded(100.0 * median.loss()[0]))),
                    ("drop_percent_clock_stopped", json!(rounded(100.0 * median.loss()[1]))),
                    ("worst_drop_percent_clock_stopped", json!(rounded(100.0 * worst))),
                    ("imissed", json!(median.wire.imissed)),
                    ("ring_full", json!(median.ring_full)),
                    ("receive_ns", json!(rounded(receive))),
                    ("parse_ns", json!(rounded(parse))),
                    ("processing_ns", json!(rounded(count))),
                    ("hand_over_ns", json!(rounded(hand_over))),
                    ("delay_ns", json!(rounded(receive + parse + count + hand_over))),
                    ("busy", json!(median.busy())),
                    ("gaps", json!(median.wire.gaps)),
                    ("gap_ms", json!(rounded(median.wire.gap_ns as f64 / 1e6))),
                ],
            });
        }
    }
    Ok(())
}
