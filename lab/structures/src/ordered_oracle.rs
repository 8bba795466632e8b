//! Streams of values, and the check of quantiles against the same values in order.

use sketch::{Quantiles, Update};

/// A stream of this many values.
type ValueStream = fn(usize) -> Vec<u64>;

/// Streams with names: orders and ties that summaries of ranks find hard.
pub(crate) const STREAMS: [(&str, ValueStream); 6] = [
    ("drawn", |count| drawn(count).collect()),
    ("of all sizes", |count| drawn(count).map(|word| word >> (word % 47)).collect()),
    ("ascending", |count| (0..count as u64).collect()),
    ("descending", |count| (0..count as u64).rev().collect()),
    ("few values", |count| drawn(count).map(|word| word % 5 * (word >> 40) % 3).collect()),
    ("from both ends", |count| {
        (0..count as u64).map(|i| if i % 2 == 0 { i } else { 1_000_000 - i }).collect()
    }),
];

/// Numbers below 2⁵⁰, which are exact as `f64`.
fn drawn(count: usize) -> impl Iterator<Item = u64> {
    let mut state = 7;
    (0..count).map(move |_| packet::split_mix(&mut state) >> 14)
}

/// The values as updates.
pub(crate) fn updates(values: &[u64]) -> Vec<Update<()>> {
    values.iter().map(|value| Update { key: (), hash: 0, weight: *value }).collect()
}

/// Answers by twentieths.
pub(crate) fn quantiles<S: Quantiles>(summary: &S) -> Vec<Option<sketch::Estimate>> {
    (0..=20).map(|q| summary.quantile(f64::from(q) / 20.0)).collect()
}

/// Checks quantiles against the values in order: each is at most `error` ranks from one that its value has, bounds are certain and contain
/// the truth, and without an error they are the truth.
pub(crate) fn check_answers(name: &str, summary: &impl Quantiles, error: f64, values: &[u64]) {
    let mut sorted = values.to_vec();
    sorted.sort();
    for q in (0..=1_000).map(|q| f64::from(q) / 1_000.0) {
        let rank = (q * (sorted.len() - 1) as f64).floor() as usize;
        let estimate = summary.quantile(q).expect("values");
        let bounds = estimate.bounds.expect("bounds");
        let truth = sorted[rank] as f64;
        let of = format!("{name}, {q}: {estimate:?} for {truth}, with an error of {error} ranks");
        assert!(bounds.confidence == 1.0 && bounds.contain(truth) && bounds.contain(estimate.value), "{of}");
        let value = estimate.value as u64;
        let first = sorted.partition_point(|other| *other < value);
        let after = sorted.partition_point(|other| *other <= value);
        assert!(first < after, "{of}: a value of the stream");
        let off = first.saturating_sub(rank).max((rank + 1).saturating_sub(after));
        assert!(off as f64 <= error, "{of}: {off} ranks");
    }
}
