//! Bounds hold as often as they say for the flows that an answer names, although the sample itself chooses these.

use crate::support::*;
use packet::{KeySpec, Seed};
use std::collections::HashMap;
use task::{RunProperties, Tasks};

const SEEDS: u64 = 20;

/// Packets of many small flows of the same size, among which chance makes some look large, and of some flows with more.
fn mice(flows: u32, each: u32, elephants: u32) -> Vec<Packet> {
    let mut random = Random(flows.into());
    let mut packets: Vec<Packet> = (0..flows * each)
        .map(|at| (at % flows, if random.below(4) == 0 { 1_500 } else { 40 + random.below(60) as u32 }))
        .map(|(flow, bytes)| Packet { key: v4(flow, 1, 1), bytes })
        .collect();
    let of = |flow| {
        (0..each * 20).map(move |at| Packet { key: v4(u32::MAX - flow, 2, 2), bytes: 40 + at % 1_400 })
    };
    packets.extend((0..elephants).flat_map(of));
    // In any order.
    for at in (1..packets.len()).rev() {
        packets.swap(at, random.below(at as u64 + 1) as usize);
    }
    packets
}

/// Misses and rows of the answers of many seeds.
fn misses(text: &str, packets: &[Packet], expected: u64) -> (u64, u64) {
    let truth: HashMap<_, u64> = weights(packets, &KeySpec::FIVE_TUPLE, text.contains("by=bytes"));
    let (mut missed, mut rows) = (0, 0);
    for number in 0..SEEDS {
        let seed = Seed::new(number);
        let setting = RunProperties { seed, ..setting(expected, 1, false) };
        let tasks = Tasks::plan(&[spec(text)], &setting).expect("it can be");
        let answer = answers_by(&tasks, &[packets], seed).remove(0).remove(0);
        for flow in flows(&answer) {
            let bounds = flow.estimate.bounds.expect("bounds");
            missed += u64::from(!bounds.contain(truth[&flow.key] as f64));
            rows += 1;
        }
    }
    (missed, rows)
}

#[test]
fn bounds_hold_for_the_flows_that_an_answer_names() {
    let mut named = 0;
    for (flows, each, elephants) in [(20_000, 3, 0), (20_000, 3, 20), (3_000, 10, 100)] {
        let packets = mice(flows, each, elephants);
        for structure in ["packet-sample", "sample-and-hold"] {
            for by in ["packets", "bytes"] {
                for limit in ["share=0.1%", "top=20", "count=200"] {
                    for expected in [packets.len() as u64, 1_000_000] {
                        let text =
                            format!("heavy-hitters:by={by},{limit},structure={structure},memory=64KiB");
                        let (missed, rows) = misses(&text, &packets, expected);
                        // Five standard deviations of what may miss.
                        let most = 0.05 * rows as f64 + 5.0 * (0.05 * 0.95 * rows as f64).sqrt();
                        assert!(missed as f64 <= most, "{flows} {each} {text}: {missed} of {rows}");
                        named += rows;
                    }
                }
            }
        }
    }
    assert!(named > 50_000, "{named}");
}
