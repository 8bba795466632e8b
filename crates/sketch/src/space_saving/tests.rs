use super::*;
use crate::oracle::{self, BoundTally, OracleStream};
use packet::{KeyV4, Seed};
use std::collections::{HashMap, HashSet};

fn config<O: PriorityQueue>(capacity: usize, number: u64) -> GridConfig<SpaceSaving<KeyV4, O>> {
    GridConfig::with_width(capacity, Seed::new(number))
}

/// SpaceSaving by its definition: the least is searched for. What the least of several is replaced is left open, so
/// only the counts are compared.
fn counts_by_definition(stream: &OracleStream, capacity: usize) -> Vec<u64> {
    let mut counts = HashMap::<KeyV4, u64>::new();
    for update in &stream.updates {
        if let Some(count) = counts.get_mut(&update.key) {
            *count += update.weight;
            continue;
        }
        let least = counts.iter().map(|(key, count)| (*count, *key)).min();
        let least = least.filter(|_| counts.len() == capacity);
        let error = least.and_then(|(_, key)| counts.remove(&key)).unwrap_or(0);
        counts.insert(update.key, error + update.weight);
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort();
    counts
}

fn bounds_hold<O: PriorityQueue>(summary: &SpaceSaving<KeyV4, O>, stream: &OracleStream, capacity: usize) {
    let limit = stream.total / capacity as u64;
    assert!(summary.least() <= limit, "{} of {limit}", summary.least());
    let mut promise = BoundTally::default();
    let strangers = stream.strangers().map(|key| (key, 0));
    for (key, count) in stream.counts.iter().map(|(key, count)| (*key, *count)).chain(strangers) {
        let estimate = summary.estimate(&key);
        promise.count(estimate, count as f64);
        let bounds = estimate.bounds.expect("bounds");
        assert!(bounds.upper - bounds.lower <= limit as f64, "{bounds:?}, N / capacity {limit}");
    }
    promise.must_hold();
    let found: Vec<_> = summary.heavy_hitters(limit + 1).keys.into_iter().map(|(key, _)| key).collect();
    for key in stream.heavy(limit + 1) {
        assert!(found.contains(&key), "a flow above N / capacity has a counter");
    }
    let (least, is_full) = (summary.least(), summary.counted().count() == capacity);
    for threshold in [0, 1, least, least + 1, limit + 1] {
        let list = summary.heavy_hitters(threshold);
        assert_eq!(list.is_cut_short, is_full && threshold <= least, "{threshold}, least {least}");
        let found: HashSet<_> = list.keys.into_iter().map(|(key, _)| key).collect();
        let is_missing = stream.heavy(threshold).into_iter().any(|key| !found.contains(&key));
        assert!(list.is_cut_short || !is_missing, "{threshold}, least {least}");
    }
}

fn all_of<O: PriorityQueue>() {
    for number in 0..20 {
        for stream in [OracleStream::zipf(20_000, 5_000, number), OracleStream::bytes(5_000, 1_000, number)] {
            for capacity in [1, 2, 100, 5_000] {
                let summary = oracle::summary_of(&config::<O>(capacity, number), &stream.updates);
                bounds_hold(&summary, &stream, capacity);
                // Fewer flows than counters are counted exactly.
                if capacity == 5_000 {
                    for (key, estimate) in summary.heavy_hitters(0).keys {
                        assert_eq!(estimate, Estimate::exact(stream.counts[&key] as f64));
                    }
                }
            }
        }
    }
    for number in 0..20 {
        let stream = OracleStream::zipf(20_000, 5_000, number);
        for capacity in [2, 100, 5_000] {
            let config = config::<O>(capacity, number);
            let [first, second, third, after] =
                [0..4_000, 4_000..11_000, 11_000..15_000, 15_000..20_000].map(|r| &stream.updates[r]);
            let mut right = oracle::summary_of::<SpaceSaving<KeyV4, O>, _>(&config, second);
            right.merge(&oracle::summary_of(&config, third)).expect("equal configurations");
            let mut merged = oracle::summary_of::<SpaceSaving<KeyV4, O>, _>(&config, first);
            merged.merge(&right).expect("equal configurations");
            merged.update_burst(after);
            bounds_hold(&merged, &stream, capacity);
        }
    }
    let (stream, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::bytes(5_000, 900, 2));
    let answers = |summary: &SpaceSaving<KeyV4, O>| oracle::all_answers(summary, &stream);
    oracle::reset_equals_new(&config(60, 1), &stream.updates, &second.updates, answers);
    oracle::do_not_merge::<SpaceSaving<KeyV4, O>>(&config(60, 1), &config(61, 1));
    oracle::check_sizes::<SpaceSaving<KeyV4, O>>();
    assert!(SpaceSaving::<KeyV4, O>::new(&config(0, 1)).is_err());
}

#[test]
fn heap() {
    all_of::<Heap>();
}

#[test]
fn stream_summary() {
    all_of::<StreamSummary>();
}

#[test]
fn both_count_as_by_definition() {
    for number in 0..20 {
        let stream = OracleStream::zipf(3_000, 500, number);
        for capacity in [1, 7, 64] {
            let truth = counts_by_definition(&stream, capacity);
            let heap = oracle::summary_of(&config::<Heap>(capacity, number), &stream.updates);
            let summary = oracle::summary_of(&config::<StreamSummary>(capacity, number), &stream.updates);
            assert_eq!(sorted_counts(&heap), truth);
            assert_eq!(sorted_counts(&summary), truth);
        }
    }
}

fn sorted_counts<O: PriorityQueue>(summary: &SpaceSaving<KeyV4, O>) -> Vec<u64> {
    let mut counts: Vec<_> = summary.counted().map(|(_, count)| count).collect();
    counts.sort();
    counts
}

#[test]
fn merging_empty_ones_changes_nothing() {
    let stream = OracleStream::zipf(3_000, 500, 1);
    let config = config::<StreamSummary>(40, 1);
    let whole: SpaceSavingSummary<KeyV4> = oracle::summary_of(&config, &stream.updates);
    let mut merged = SpaceSavingSummary::new(&config).expect("a structure");
    merged.merge(&whole).expect("equal configurations");
    merged.merge(&SpaceSavingSummary::new(&config).expect("a structure")).expect("equal configurations");
    assert_eq!(oracle::all_answers(&merged, &stream), oracle::all_answers(&whole, &stream));
}

fn counts_at_their_end<O: PriorityQueue>() {
    let config = config::<O>(1, 1);
    let of = |port| {
        Update::new(KeyV4::new([10, 0, 0, 1, 10, 0, 0, 2], [1, 2, 3, port], 17), 3 << 62, &config.seed)
    };
    let (one, two) = (of(1), of(2));
    let mut summary = oracle::summary_of::<SpaceSaving<KeyV4, O>, _>(&config, &[one]);
    assert_eq!((summary.saturated(), summary.estimate(&one.key)), (0, Estimate::exact((3_u64 << 62) as f64)));
    summary.update_burst(&[two, two]);
    // Both kept flows differ, and so do both errors.
    let other = oracle::summary_of::<SpaceSaving<KeyV4, O>, _>(&config, &[two, one]);
    summary.merge(&other).expect("equal configurations");
    let mut again = summary.clone();
    again.merge(&summary).expect("equal configurations");
    for summary in [&summary, &again] {
        assert_eq!(summary.saturated(), 1);
        for key in [one.key, two.key] {
            let bounds = summary.estimate(&key).bounds.expect("bounds");
            assert!(bounds.lower <= (3_u64 << 62) as f64 && bounds.upper == f64::INFINITY, "{bounds:?}");
        }
    }
}

#[test]
fn counts_at_their_end_stay_are_counted_and_leave_no_upper_bound() {
    counts_at_their_end::<Heap>();
    counts_at_their_end::<StreamSummary>();
}
