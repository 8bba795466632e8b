//! Quantiles by DDSketch (Masson, Rim, Lee, VLDB 2019), of the library `sketches-ddsketch`.

use super::{Configuration, Estimate, Merge, SketchError, Summary, Unmergeable, Update, UpdateBurst};
use packet::Seed;
use sketches_ddsketch::{Config, DDSketch};
use std::fmt;

/// "Which value are this many below?"
pub trait Quantiles: Summary {
    /// The value of rank ⌊q (n − 1)⌋ of n, counted from 0; `None` without values, or where `q` is not in 0..=1.
    fn quantile(&self, q: f64) -> Option<Estimate>;
}

/// The accuracy of quantiles.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileConfig {
    /// The largest relative error of a quantile, in parts of a thousand: 1 to 500.
    pub error_per_mille: u32,
    /// The seed, which is not used, as nothing is drawn.
    pub seed: Seed,
}

impl QuantileConfig {
    const KIND: &'static str = "DDSketch";

    /// Bins for all values up to 2⁶⁴: so that no bin is ever collapsed.
    fn bins(&self) -> usize {
        let alpha = f64::from(self.error_per_mille) / 1000.0;
        let gamma = (1.0 + alpha) / (1.0 - alpha);
        (64.0 * std::f64::consts::LN_2 / gamma.ln()).ceil() as usize + 2
    }
}

impl Configuration for QuantileConfig {
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        let of = |error_per_mille| Self { error_per_mille, seed };
        let fits = (1..=500).map(of).find(|config| config.bytes() <= bytes);
        fits.ok_or(SketchError::TooLittleMemory { kind: Self::KIND, bytes, least: of(500).bytes() })
    }

    /// Returns the most memory that the sketch takes, bytes: bins are allocated when values need them, 128 at a time, by a vector that
    /// doubles where it grows and so may have room for twice as many.
    fn bytes(&self) -> usize {
        size_of::<DDSketch>() + 2 * self.bins().next_multiple_of(128) * size_of::<u64>()
    }

    fn seed(&self) -> &Seed {
        &self.seed
    }
}

impl fmt::Display for QuantileConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error {} ‰)", Self::KIND, self.error_per_mille)
    }
}

/// Quantiles of the weights of its updates (sizes of packets or flows, times in nanoseconds); keys and hashes are not used.
///
/// A quantile is within the relative error of the true one, for certain (section 2 of the paper): bins are
/// for values from γᵏ to γᵏ⁺¹, and cover all 64-bit values. It costs a logarithm per value, and the library
/// allocates while it grows, when a value is beyond all earlier ones: at most seventeen times with 1 %.
#[derive(Clone)]
pub struct QuantileSketch {
    config: QuantileConfig,
    sketch: DDSketch,
}

fn empty(config: &QuantileConfig) -> DDSketch {
    // Values from 1 on have bins; 0 has a counter.
    DDSketch::new(Config::new(f64::from(config.error_per_mille) / 1000.0, config.bins() as u32, 0.5))
}

impl Summary for QuantileSketch {
    type Configuration = QuantileConfig;

    fn new(config: &QuantileConfig) -> Result<Self, SketchError> {
        SketchError::check_size(
            QuantileConfig::KIND,
            "relative error in parts of a thousand",
            config.error_per_mille as usize,
            1,
            500,
        )?;
        Ok(Self { config: config.clone(), sketch: empty(config) })
    }

    fn configuration(&self) -> &QuantileConfig {
        &self.config
    }

    fn reset(&mut self) {
        self.sketch = empty(&self.config);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for QuantileSketch {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        burst.iter().for_each(|update| self.sketch.add(update.weight as f64));
    }
}

/// Merging gives the sketch of one pass over both streams.
impl Merge for QuantileSketch {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        // The library checks the same again.
        self.sketch.merge(&other.sketch).map_err(|_| Unmergeable::new(&self.config, &other.config))
    }
}

impl Quantiles for QuantileSketch {
    fn quantile(&self, q: f64) -> Option<Estimate> {
        let value = self.sketch.quantile(q).ok().flatten()?;
        // What is known exactly limits it from both sides.
        let (least, most) = (self.sketch.min()?, self.sketch.max()?);
        let value = value.clamp(least, most);
        let error = f64::from(self.config.error_per_mille) / 1000.0;
        // A little more than the error, for what `f64` rounds off.
        let off = error + 1e-9;
        let (lower, upper) = (value / (1.0 + off), value / (1.0 - off));
        Some(Estimate::bounded(value, lower.max(least), upper.min(most), 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::SketchRng;
    use super::super::oracle::{self, BoundTally};
    use super::*;

    fn config(error_per_mille: u32) -> QuantileConfig {
        QuantileConfig { error_per_mille, seed: Seed::new(1) }
    }

    /// Values of all sizes.
    fn updates(number: u64, count: usize) -> Vec<Update<()>> {
        let mut draw = SketchRng::new(&Seed::new(number), 1);
        let mut value = || draw.word() >> (draw.word() % 65).min(63);
        (0..count).map(|_| Update { key: (), hash: 0, weight: value() }).collect()
    }

    fn answers(sketch: &QuantileSketch) -> Vec<Option<Estimate>> {
        (0..=100).map(|q| sketch.quantile(f64::from(q) / 100.0)).collect()
    }

    #[test]
    fn quantiles_are_within_the_error() {
        let mut promise = BoundTally::default();
        for number in 0..20 {
            for (error, count) in [(1, 1_000), (10, 1), (10, 5_000), (500, 300)] {
                let updates = updates(number, count);
                let sketch: QuantileSketch = oracle::summary_of(&config(error), &updates);
                let mut values: Vec<u64> = updates.iter().map(|update| update.weight).collect();
                values.sort();
                for q in (0..=1000).map(|q| f64::from(q) / 1000.0) {
                    let truth = values[(q * (count - 1) as f64) as usize] as f64;
                    let estimate = sketch.quantile(q).expect("values");
                    promise.count(estimate, truth);
                    assert!((estimate.value - truth).abs() <= (f64::from(error) / 1000.0 + 1e-9) * truth);
                }
            }
        }
        promise.must_hold();
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (first, second) = (updates(1, 3_000), updates(2, 50));
        oracle::merge_equals_one_pass(&config(10), &first, answers);
        oracle::reset_equals_new(&config(10), &first, &second, answers);
        oracle::do_not_merge::<QuantileSketch>(&config(10), &config(11));
        // The most exact one there is takes less than the largest of these sizes.
        oracle::check_sizes_in_steps::<QuantileSketch>(10);
        assert!(QuantileSketch::new(&config(0)).is_err() && QuantileSketch::new(&config(501)).is_err());
        let empty = QuantileSketch::new(&config(10)).expect("a structure");
        assert_eq!((empty.quantile(0.5), empty.quantile(1.5), empty.quantile(f64::NAN)), (None, None, None));
    }
}
