//! Streams, their truth, and how often a bound may fail.

use packet::{Key, KeyV4, Seed};
use sketch::{Configuration, Estimate, Summary, Update, UpdateBurst};
use std::collections::HashMap;

pub(crate) use testbed::Random;

pub(crate) fn key(flow: u64) -> KeyV4 {
    KeyV4::new((flow.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes(), [0, 80, 1, 187], 6)
}

/// Flow numbers of packets, flow 0 the most frequent, nearly by Zipf's law.
pub(crate) fn skewed(packets: usize, flows: u64, random: &mut Random) -> Vec<u64> {
    let mut draw = || {
        // The logarithm of the rank is uniform.
        let uniform = random.draw() as f64 / 2f64.powi(64);
        ((flows as f64 + 1.0).powf(uniform) - 1.0) as u64
    };
    (0..packets).map(|_| draw().min(flows - 1)).collect()
}

/// How often each flow comes.
pub(crate) fn counts(flows: &[u64]) -> HashMap<u64, u64> {
    let mut counts = HashMap::new();
    flows.iter().for_each(|flow| *counts.entry(*flow).or_default() += 1);
    counts
}

/// One packet of each flow of the list.
pub(crate) fn updates(flows: &[u64], seed: &Seed) -> Vec<Update<KeyV4>> {
    flows.iter().map(|flow| Update::new(key(*flow), 1, seed)).collect()
}

/// A summary of the stream, in bursts of different lengths.
pub(crate) fn summarise<S: UpdateBurst<KeyV4>>(configuration: &S::Configuration, flows: &[u64]) -> S {
    let mut summary = S::new(configuration).expect("a summary");
    feed(&mut summary, flows);
    summary
}

pub(crate) fn feed<S: UpdateBurst<KeyV4>>(summary: &mut S, flows: &[u64]) {
    let seed = *Summary::configuration(summary).seed();
    let updates = updates(flows, &seed);
    let (mut rest, mut len) = (&updates[..], 1);
    while !rest.is_empty() {
        let (burst, others) = rest.split_at(len.min(rest.len()));
        summary.update_burst(burst);
        (rest, len) = (others, len % 97 + 13);
    }
}

/// Whether `truth` is outside of what `estimate` promises; the promise must be there.
pub(crate) fn fails(estimate: &Estimate, truth: f64) -> bool {
    !estimate.bounds.expect("a bound").contain(truth)
}

/// Refuses more failures in this many independent trials than a bound that fails with the probability `p` or less would
/// have in one of a million cases.
pub(crate) fn assert_as_promised(what: &str, failures: u32, trials: u32, confidence: f64) {
    let p = 1.0 - confidence;
    // P(Binomial(trials, p) >= failures), term by term.
    let mut tail = if failures == 0 { 1.0 } else { 0.0 };
    let mut log_term = f64::from(trials) * (1.0 - p).ln();
    for many in 0..=trials {
        if failures > 0 && many >= failures {
            tail += log_term.exp();
        }
        log_term += (f64::from(trials - many) / f64::from(many + 1) * p / (1.0 - p)).ln();
    }
    assert!(tail > 1e-6, "{what}: {failures} failures in {trials}, promised {p:.4}: probability {tail:e}");
}

pub(crate) fn seeds(count: u64) -> impl Iterator<Item = Seed> {
    (0..count).map(|number| Seed::new(number.wrapping_mul(0x1234_5678_9abc_def1) ^ 0x5eed))
}

pub(crate) fn hash(flow: u64, seed: &Seed) -> u64 {
    key(flow).hash(seed)
}
