//! The Reversible sketch: its keys are read off counters. Truth comes from maps.

use crate::support::*;
use packet::{FlowKey, Seed};
use std::collections::HashMap;
use task::{TaskAnswer, TaskRunner, Tasks, WindowId, WorkerId};

/// The answer about the last window, each of which so many workers counted, packet by packet in turn.
fn answer_by(text: &str, windows: &[Vec<Packet>], workers: usize, seed: Seed) -> TaskAnswer {
    let packets = windows.iter().map(Vec::len).max().expect("windows") as u64;
    let setting = task::RunProperties { seed, ..setting(packets, workers, workers > 1) };
    let tasks = Tasks::plan(&[spec(text)], &setting).unwrap_or_else(|error| panic!("{error}"));
    let mut desk = TaskRunner::new(tasks.clone(), workers);
    let mut counters: Vec<_> = (0..workers).map(|_| counter(&tasks)).collect();
    let mut last = None;
    for (window, packets) in (0..).map(WindowId::new).zip(windows) {
        for (worker, counter) in counters.iter_mut().enumerate() {
            let part: Vec<Packet> = packets.iter().skip(worker).step_by(workers).copied().collect();
            count_by(counter, &part, seed);
            let empty = Box::new(tasks.states().expect("memory"));
            desk.part(WorkerId::new(worker), window, counter.turn(empty));
        }
        last = desk.report(window, Some(0)).pop();
    }
    last.expect("an answer")
}

fn totals(packets: &[Packet], key_text: &str) -> HashMap<FlowKey, f64> {
    let spec = key(&key_text.replace('+', ","));
    weights(packets, &spec, false).into_iter().map(|(key, weight)| (key, weight as f64)).collect()
}

/// Keys of four bytes, of two, and of more, which sets of bytes tell, as those of IPv6 addresses.
#[test]
fn heavy_keys_are_read_off_the_counters() {
    let packets = stream(60, 40_000);
    for (key_text, sizes) in [
        ("src_addr", "memory=8MiB"),
        ("src_addr/32/32", "memory=256KiB"),
        ("src_addr/20/24", "memory=256KiB"),
        ("src_port", "depth=5,width=4096"),
        ("src_port+dst_port", "depth=6,width=65536"),
        ("protocol+dst_port", "memory=128KiB"),
    ] {
        let truth = totals(&packets, key_text);
        let text = format!("heavy-hitters:structure=reversible,key={key_text},count=150,{sizes}");
        let by_one = answer_by(&text, std::slice::from_ref(&packets), 1, Seed::new(1));
        assert_eq!(by_one.status, "ok", "{text}");
        let found: HashMap<_, _> = flows(&by_one).iter().map(|flow| (flow.key, flow.estimate)).collect();
        // None is missing, as no counter is too small; of keys that had less, only those that share all of their counters are there.
        assert!(truth.iter().all(|(key, count)| *count < 150.0 || found.contains_key(key)), "{text}");
        let heavy = truth.values().filter(|count| **count >= 150.0).count();
        assert!(heavy > 0 && found.len() <= heavy + heavy / 10, "{text}: {} for {heavy}", found.len());
        for (key, estimate) in &found {
            let count = truth.get(key).copied().unwrap_or(0.0);
            assert!(
                estimate.value >= count && estimate.bounds.expect("bounds").contain(count),
                "{text} {key:?}"
            );
        }
        // The sum of the workers' counters is that of one worker, however packets are spread.
        let by_four = answer_by(&text, std::slice::from_ref(&packets), 4, Seed::new(1));
        assert_eq!(format!("{:?}", by_four.rows), format!("{:?}", by_one.rows), "{text}");
    }
}

#[test]
fn the_largest_are_found_without_a_threshold() {
    let packets = stream(61, 40_000);
    for (key_text, top) in [("src_addr/32/32", 5), ("src_port", 3), ("src_addr", 1)] {
        let mut largest: Vec<f64> = totals(&packets, key_text).into_values().collect();
        largest.sort_by(|a, b| b.total_cmp(a));
        let text = format!("heavy-hitters:structure=reversible,key={key_text},top={top},memory=16MiB");
        let answer = answer_by(&text, std::slice::from_ref(&packets), 1, Seed::new(2));
        let found: Vec<f64> = flows(&answer).iter().map(|flow| flow.estimate.value).collect();
        assert_eq!((&*answer.status, &found[..]), ("ok", &largest[..top]), "{text}");
    }
}

/// Windows of many flows that stay as they are, and of some that change by much, either way.
fn changing(number: u64) -> Vec<Vec<Packet>> {
    let mut random = Random(number);
    let one = |flow: u32| Packet { key: v4(flow.wrapping_mul(0x9e37_79b1), 1, 1), bytes: 100 };
    let six = |flow: u128| Packet { key: v6(flow << 97, 1, 1), bytes: 100 };
    (0..4_u32)
        .map(|window| {
            let mut packets = Vec::new();
            for flow in 0..1_500 {
                packets.extend(vec![one(flow); 5 + random.below(6) as usize]);
            }
            for flow in 0..12_u32 {
                let has_more = (flow % 2 == 0) == (window == 3);
                packets
                    .extend(vec![one(10_000 + flow); if has_more { 400 + 20 * flow as usize } else { 60 }]);
                packets.extend(vec![six(u128::from(flow)); if has_more { 300 } else { 30 }]);
            }
            packets
        })
        .collect()
}

/// By how much flows changed against the mean of the windows before.
fn changes(windows: &[Vec<Packet>], back: usize, key_text: &str) -> HashMap<FlowKey, f64> {
    let (now, before) = windows.split_last().expect("windows");
    let mut changes = totals(now, key_text);
    for earlier in &before[before.len() - back..] {
        for (key, total) in totals(earlier, key_text) {
            *changes.entry(key).or_default() -= total / back as f64;
        }
    }
    changes
}

#[test]
fn changed_keys_are_read_off_the_differences() {
    let windows = changing(3);
    for (against, back) in [("last", 1), ("average,windows=3", 3)] {
        let truth = changes(&windows, back, "src_addr/32/32");
        let text =
            format!("change:structure=reversible,key=src_addr/32/32,against={against},count=200,memory=1MiB");
        for workers in [1, 3] {
            let answer = answer_by(&text, &windows, workers, Seed::new(5));
            assert_eq!(answer.status, "ok", "{text}");
            let found: HashMap<_, _> = flows(&answer).iter().map(|flow| (flow.key, flow.estimate)).collect();
            let changed = truth.iter().filter(|(_, change)| change.abs() >= 200.0);
            assert_eq!(found.len(), 24, "{text}: {found:?}");
            for (key, change) in changed {
                let estimate = found[key];
                assert!((estimate.value - change).abs() < 30.0, "{text} {key:?} {estimate:?} {change}");
                assert!(
                    estimate.bounds.expect("bounds").contain(*change),
                    "{text} {key:?} {estimate:?} {change}"
                );
            }
        }
        // The largest of them, without a threshold.
        let top = answer_by(&text.replace("count=200", "top=4"), &windows, 1, Seed::new(5));
        let values: Vec<f64> = flows(&top).iter().map(|flow| flow.estimate.value.abs()).collect();
        assert!(values.len() == 4 && values.iter().all(|value| *value > 450.0), "{} {values:?}", top.status);
    }
}

/// The bounds of rows hold as often as they promise, of totals and of changes, also of keys that never occurred, with one worker and with four.
#[test]
fn bounds_hold_as_often_as_promised() {
    for (text, is_change) in [
        ("heavy-hitters:structure=reversible,key=src_addr/32/32,top=10,memory=256KiB", false),
        ("heavy-hitters:structure=reversible,key=src_addr,count=50,memory=1MiB", false),
        // So small that keys are found that never occurred.
        ("heavy-hitters:structure=reversible,key=src_addr/32/32,top=20,depth=3,width=256", false),
        ("change:structure=reversible,key=src_addr/32/32,top=20,memory=256KiB", true),
        ("change:structure=reversible,key=src_addr/32/32,count=40,depth=4,width=4096", true),
    ] {
        let (mut rows, mut missed, mut least) = (0_u32, 0_u32, 1.0_f64);
        for number in 0..8 {
            let windows = changing(100 + number);
            let key_text = if text.contains("/32/32") { "src_addr/32/32" } else { "src_addr" };
            let truth =
                if is_change { changes(&windows, 1, key_text) } else { totals(&windows[3], key_text) };
            let answer = answer_by(text, &windows, if number % 2 == 0 { 1 } else { 4 }, Seed::new(number));
            for flow in flows(&answer) {
                let bounds = flow.estimate.bounds.expect("bounds");
                let truth = truth.get(&flow.key).copied().unwrap_or(0.0);
                rows += 1;
                missed += u32::from(!bounds.contain(truth));
                least = least.min(bounds.confidence);
            }
        }
        let expected = (1.0 - least) * f64::from(rows);
        assert!(rows >= 80, "{text}: {rows}");
        assert!(f64::from(missed) <= expected + 5.0 * expected.sqrt(), "{text}: {missed} of {rows}, {least}");
    }
}

#[test]
fn keys_and_sizes_that_cannot_be_are_refused_in_one_line() {
    for (text, says) in [
        ("change:structure=reversible", "keys of four bytes at most, and this one has 13 of IPv4"),
        ("change:structure=reversible,key=src_addr", "this one has 16 of IPv6; key=src_addr/32/32"),
        ("heavy-hitters:structure=reversible,key=src_port,width=1000", "take a power of 16: 256 or 4096"),
        ("heavy-hitters:structure=reversible,key=src_port,depth=2,width=256", "it goes from 3 to 6"),
        ("heavy-hitters:structure=reversible,key=src_port,memory=4KiB", "the least is about"),
    ] {
        let error = Tasks::plan(&[spec(text)], &setting(1_000_000_000, 1, false)).expect_err(text);
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
    let error = "heavy-hitters:structure=reversible,by=bytes".parse::<task::TaskSpec>().expect_err("bytes");
    assert!(error.to_string().contains("32 bits"), "{error}");
    // Both families within what is given.
    let tasks =
        tasks(&["heavy-hitters:structure=reversible,key=src_addr,memory=1MiB"], &setting(1, 1, false));
    assert!(tasks.bytes(1) <= 4 << 20);
    let answer = answer("heavy-hitters:structure=reversible,key=src_addr,memory=1MiB", &stream(1, 100));
    assert!(answer.note.memory_bytes <= 2 << 20, "{}", answer.note.memory_bytes);
}
