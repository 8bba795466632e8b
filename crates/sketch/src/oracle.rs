//! Streams with their exact counts, and checks that a bound holds as often as promised, for the tests.

use super::{
    Bounds, Configuration, Estimate, Frequency, HeavyHitters, Merge, SketchError, Summary, Update,
    UpdateBurst,
};
use packet::{KeyV4, Seed};
use std::collections::HashMap;
use std::fmt::Debug;
use traffic::{KeyStream, TrafficSpec};

/// A stream and its truth.
pub(crate) struct OracleStream {
    pub(crate) updates: Vec<Update<KeyV4>>,
    pub(crate) counts: HashMap<KeyV4, u64>,
    pub(crate) total: u64,
}

impl OracleStream {
    /// Packets of flows drawn by Zipf's law with exponent 1, to be counted by the seed of this number.
    pub(crate) fn zipf(packets: usize, flows: usize, number: u64) -> Self {
        Self::drawn(packets, flows, 1.0, number, |_| 1)
    }

    /// Packets of flows drawn by Zipf's law with exponent 1, with weights like those of packets' bytes: 40 to 1,500.
    pub(crate) fn bytes(packets: usize, flows: usize, number: u64) -> Self {
        Self::drawn(packets, flows, 1.0, number, |i| {
            40 + (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % 1461
        })
    }

    pub(crate) fn drawn(
        packets: usize,
        flows: usize,
        zipf: f64,
        number: u64,
        weight: impl Fn(u64) -> u64,
    ) -> Self {
        let text = format!("packets={packets},flows={flows},zipf={zipf},seed={number}");
        let spec: TrafficSpec = text.parse().expect("a specification");
        let seed = Seed::new(number);
        let keys = KeyStream::ipv4(&spec);
        let updates: Vec<_> =
            (0..).zip(keys.keys()).map(|(i, key)| Update::new(*key, weight(i), &seed)).collect();
        let mut counts = HashMap::new();
        updates.iter().for_each(|update| *counts.entry(update.key).or_default() += update.weight);
        let total = updates.iter().map(|update| update.weight).sum();
        Self { updates, counts, total }
    }

    /// Keys that are not in the stream.
    pub(crate) fn strangers(&self) -> impl Iterator<Item = KeyV4> + '_ {
        let key =
            |i: u16| KeyV4::new([203, 0, 113, 1, 203, 0, 113, 2], [1, 2, i.to_be_bytes()[0], i as u8], 99);
        (0..1000).map(key).filter(|key| !self.counts.contains_key(key))
    }

    /// Flows with `threshold` or more.
    pub(crate) fn heavy(&self, threshold: u64) -> Vec<KeyV4> {
        let mut heavy: Vec<_> =
            self.counts.iter().filter(|(_, count)| **count >= threshold).map(|(key, _)| *key).collect();
        heavy.sort();
        heavy
    }
}

/// Counts how often a bound held.
#[derive(Debug, Default)]
pub(crate) struct BoundTally {
    asked: u64,
    broken: u64,
    /// The least promised confidence.
    confidence: Option<f64>,
}

impl BoundTally {
    /// Counts one answer and its truth. It must have a bound.
    pub(crate) fn count(&mut self, estimate: Estimate, truth: f64) {
        let bounds @ Bounds { confidence, lower, upper } = estimate.bounds.expect("a bound");
        let value = estimate.value;
        assert!(lower <= value && value <= upper, "{value} not within its own {bounds:?}");
        self.count_bare(bounds.contain(truth), confidence);
    }

    pub(crate) fn count_bare(&mut self, holds: bool, confidence: f64) {
        self.asked += 1;
        self.broken += u64::from(!holds);
        self.confidence = Some(self.confidence.map_or(confidence, |least| least.min(confidence)));
    }

    /// Fails where a bound with its confidence would break as often as this in one of a million tests.
    pub(crate) fn must_hold(&self) {
        let confidence = self.confidence.expect("asked");
        // As many as expected are no exception, and the first term of many would no longer be a number.
        if self.broken as f64 <= self.asked as f64 * (1.0 - confidence) {
            return;
        }
        let chance = at_least(self.asked, self.broken, 1.0 - confidence);
        assert!(chance > 1e-6, "{self:?}: the chance of that is {chance:e}");
    }
}

/// The chance of `k` or more of `n` where each has the probability `p`.
fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    // From the term of k upwards, each from the one before it.
    let log_choose: f64 = (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).ln()).sum();
    let mut term = (log_choose + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()).exp();
    let mut sum = 0.0;
    for i in k..=n {
        sum += term;
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
    }
    sum
}

#[test]
fn the_binomial_tail_is_that_of_the_textbook() {
    assert!((at_least(10, 3, 0.5) - 0.945_312_5).abs() < 1e-12);
    assert!((at_least(20, 1, 0.05) - 0.641_514_077_590_767).abs() < 1e-9);
    assert_eq!((at_least(5, 0, 0.1), at_least(5, 1, 0.0)), (1.0, 0.0));
}

/// Returns a structure's answers: its list and its estimates of all keys of `stream` and some that are not in it.
pub(crate) fn all_answers<S>(summary: &S, stream: &OracleStream) -> impl PartialEq + Debug + use<S>
where
    S: Frequency<KeyV4> + HeavyHitters<KeyV4>,
{
    let mut keys: Vec<_> = stream.counts.keys().copied().chain(stream.strangers()).collect();
    keys.sort();
    (summary.heavy_hitters(1), keys.iter().map(|key| summary.estimate(key)).collect::<Vec<_>>())
}

/// A summary of a stream.
pub(crate) fn summary_of<S: UpdateBurst<K>, K>(config: &S::Configuration, updates: &[Update<K>]) -> S {
    let mut summary = S::new(config).expect("a structure");
    in_bursts(updates, |burst| summary.update_burst(burst));
    summary
}

/// Bursts of any length.
pub(crate) fn in_bursts<T>(mut rest: &[T], mut take: impl FnMut(&[T])) {
    let mut length = 1;
    while !rest.is_empty() {
        let (burst, after) = rest.split_at(length.min(rest.len()));
        take(burst);
        (rest, length) = (after, length * 7 % 193 + 1);
    }
}

/// Keys that a structure hashes itself count as packets of weight 1.
pub(crate) fn check_keys_count_as_packets<S: UpdateBurst<KeyV4>, A: PartialEq + Debug>(
    config: &S::Configuration,
    stream: &OracleStream,
    answers: impl Fn(&S) -> A,
) {
    let keys: Vec<KeyV4> = stream.updates.iter().map(|update| update.key).collect();
    let updates: Vec<_> = keys.iter().map(|key| Update::new(*key, 1, config.seed())).collect();
    let mut summary = S::new(config).expect("a structure");
    in_bursts(&keys, |keys| summary.count_keys(keys));
    assert_eq!(answers(&summary), answers(&summary_of(config, &updates)));
}

/// Checks that what was reset answers as what is new, also after a second stream.
pub(crate) fn reset_equals_new<S: UpdateBurst<K>, K: Copy, A: PartialEq + Debug>(
    config: &S::Configuration,
    first: &[Update<K>],
    second: &[Update<K>],
    answers: impl Fn(&S) -> A,
) {
    let mut used: S = summary_of(config, first);
    // Saturated counters leave nothing either.
    used.update_burst(
        &first.iter().take(5).map(|update| Update { weight: u64::MAX, ..*update }).collect::<Vec<_>>(),
    );
    used.reset();
    let mut new = S::new(config).expect("a structure");
    assert_eq!(answers(&used), answers(&new));
    used.update_burst(second);
    new.update_burst(second);
    assert_eq!(answers(&used), answers(&new));
}

/// Two summaries merged answer as one of both streams in sequence.
pub(crate) fn merge_equals_one_pass<S: UpdateBurst<K> + Merge, K, A: PartialEq + Debug>(
    config: &S::Configuration,
    updates: &[Update<K>],
    answers: impl Fn(&S) -> A,
) {
    for cut in [0, updates.len() / 3, updates.len()] {
        let mut merged: S = summary_of(config, &updates[..cut]);
        merged.merge(&summary_of(config, &updates[cut..])).expect("equal configurations");
        assert_eq!(answers(&merged), answers(&summary_of(config, updates)), "cut at {cut}");
    }
}

/// Two configurations do not merge, and the error names both.
pub(crate) fn do_not_merge<S: Merge>(ours: &S::Configuration, theirs: &S::Configuration) {
    let (mut a, b) = (S::new(ours).expect("a structure"), S::new(theirs).expect("a structure"));
    let error = a.merge(&b).expect_err("they differ").to_string();
    assert!(error.contains(&ours.to_string()) && error.contains(&theirs.to_string()), "{error}");
}

/// A size in bytes is kept, used nearly in full, and refused with the least where it is too small.
pub(crate) fn check_sizes<S: Summary>() {
    check_sizes_in_steps::<S>(3);
}

/// Checks sizes as [`check_sizes`] does, where they go in steps: with less than one part in `step` used something is wrong.
pub(crate) fn check_sizes_in_steps<S: Summary>(step: usize) {
    type Config<S> = <S as Summary>::Configuration;
    let seed = Seed::new(1);
    let Err(SketchError::TooLittleMemory { least, .. }) = Config::<S>::with_bytes(0, seed) else {
        panic!("no bytes are enough");
    };
    let error = Config::<S>::with_bytes(least - 1, seed).err().expect("one byte less than the least");
    assert!(error.to_string().contains(&least.to_string()), "{error}");
    for bytes in [least, least + 1, 10_000.max(least), 128 << 10, 1_000_003] {
        let config = Config::<S>::with_bytes(bytes, seed).expect("enough memory");
        let summary = S::new(&config).expect("a structure");
        assert!(
            summary.bytes() <= bytes && summary.bytes() == config.bytes(),
            "{config}: {}",
            summary.bytes()
        );
        assert!(bytes < 2 * least || summary.bytes() > bytes / step, "{config} wastes much of {bytes} bytes");
    }
}

/// The number of parts of a stream, as cores count them.
#[cfg(not(loom))]
const PARTS: usize = 3;

/// A stream in parts, by flow or by position, each into its own structure, which are merged, answers as the whole stream in one.
#[cfg(not(loom))]
pub(crate) fn check_merged_parts<S, K, A>(
    config: &S::Configuration,
    updates: &[Update<K>],
    answers: impl Fn(&S) -> A,
) where
    S: UpdateBurst<K> + Merge,
    K: Copy + Debug,
    A: PartialEq + Debug,
{
    let whole = answers(&summary_of(config, updates));
    let by_flow = |(_, update): &(usize, &Update<K>)| {
        let text = format!("{:?}", update.key);
        let hash =
            text.bytes().fold(0, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        (hash >> 32) as usize
    };
    let by_position = |(number, _): &(usize, &Update<K>)| *number;
    for part_of in [&by_flow as &dyn Fn(&(usize, &Update<K>)) -> usize, &by_position] {
        let mut parts: [Vec<Update<K>>; PARTS] = Default::default();
        for packet in updates.iter().enumerate() {
            parts[part_of(&packet) % PARTS].push(*packet.1);
        }
        assert!(parts.iter().all(|part| part.len() > updates.len() / 10), "a part of nothing shows nothing");
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let [mut merged, second, third]: [S; PARTS] = order.map(|part| summary_of(config, &parts[part]));
            merged.merge(&second).expect("equal configurations");
            merged.merge(&third).expect("equal configurations");
            assert_eq!(answers(&merged), whole, "{config}");
        }
    }
}

/// Checks structures with room for each flow, whose answers are the truth, as [`check_merged_parts`] does.
#[cfg(not(loom))]
pub(crate) fn check_merged_flows<S>(config: &S::Configuration, stream: &OracleStream)
where
    S: UpdateBurst<KeyV4> + Merge + Frequency<KeyV4> + HeavyHitters<KeyV4>,
{
    let answers = |summary: &S| {
        let listed = summary.heavy_hitters(1);
        assert_eq!((listed.keys.len(), listed.is_cut_short), (stream.counts.len(), false), "{config}");
        let values: Vec<_> = listed.keys.into_iter().map(|(key, estimate)| (key, estimate.value)).collect();
        assert!(values.iter().all(|(key, value)| stream.counts[key] as f64 == *value), "{config}");
        values
    };
    check_merged_parts(config, &stream.updates, answers);
}
