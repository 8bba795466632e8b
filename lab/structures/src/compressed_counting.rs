//! The entropy of flows by maximally skewed stable projections: compressed counting (Li, Zhang, "A new algorithm for compressed counting
//! with applications in Shannon entropy estimation in dynamic data", COLT 2011) in its limit α → 1, as Clifford and Cosma give it ("A simple
//! sketching algorithm for entropy estimation over streaming data", AISTATS 2013).

use packet::{Seed, split_mix};
use sketch::parts::{CONFIDENCE, DEVIATIONS, filled};
use sketch::{
    Configuration, Estimate, Grid, GridConfig, Merge, SketchError, Summary, Unmergeable, Update, UpdateBurst,
};
use std::f64::consts::{FRAC_PI_2, LN_2, PI};
use std::sync::LazyLock;

/// Counters, each the sum over all packets of a random number that the packet's flow has for this counter: stable, with α = 1, skewed to
/// the left as far as can be. For such a number X, E exp(θX) = θ^θ; so that of N units, of which flow i has the share pᵢ, a counter y has
/// E exp(y / N) = Π pᵢ^pᵢ = exp(−H). The entropy H is minus the logarithm of the mean over the counters.
///
/// **Bounds** (95 %) are normal: exp(y / N) has the variance 3·exp(−2H), whatever the flows, so that with k counters H is off by √(3 / k)
/// nats: 0.11 bits with 512. Each packet is added to every counter, which is why there are hundreds and not thousands.
///
/// The numbers are the sum of two that are drawn independently, an angle's and a weight's (Chambers, Mallows, Stuck 1976). Both come from
/// tables of 1,024 cells' means, 8 KiB that all sketches share; the heavy tail of the angle's is computed in place.
#[derive(Clone, Debug)]
pub struct CompressedCounting {
    config: GridConfig<Self>,
    counters: Box<[f64]>,
    secret: u64,
    /// The sum of all weights.
    total: u64,
}

/// The fewest counters for which bounds are normal.
const LEAST_COUNTERS: usize = 16;
/// The variance of exp(y / N), relative to the square of its mean: E exp(2y / N) = Π (2pᵢ)^(2pᵢ) is four times the square.
const VARIANCE: f64 = 3.0;

impl Grid for CompressedCounting {
    const KIND: &'static str = "compressed counting";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "number of counters";
    const WIDTH: std::ops::RangeInclusive<usize> = LEAST_COUNTERS..=u32::MAX as usize;

    fn bytes(_: usize, counters: usize) -> usize {
        counters * size_of::<f64>()
    }
}

/// Cells of a table, as a number of bits.
const CELL_BITS: u32 = 10;
const CELLS: usize = 1 << CELL_BITS;
/// Cells of the tail, where the numbers of a cell lie too far apart for their mean.
const TAIL_CELLS: usize = 8;
/// Points of a cell whose mean is kept.
const POINTS: usize = 16;

/// The angle's part of a number, for a uniform `u` in (0, 1): it goes to −∞ with 1 / u.
fn of_angle(u: f64) -> f64 {
    let angle = PI * (u - 0.5);
    (FRAC_PI_2 - angle) * angle.tan() + (angle.cos() / (FRAC_PI_2 - angle)).ln()
}

/// The weight's part: the logarithm of an exponential number.
fn of_weight(u: f64) -> f64 {
    (-u.ln()).ln()
}

static TABLES: LazyLock<[[f32; CELLS]; 2]> = LazyLock::new(|| {
    let mean = |of: fn(f64) -> f64, cell: usize| {
        let point = |point: usize| of((cell as f64 + (point as f64 + 0.5) / POINTS as f64) / CELLS as f64);
        ((0..POINTS).map(point).sum::<f64>() / POINTS as f64) as f32
    };
    [of_angle as fn(f64) -> f64, of_weight].map(|of| std::array::from_fn(|cell| mean(of, cell)))
});

/// The number that 64 random bits stand for.
#[inline(always)]
fn number([angles, weights]: &[[f32; CELLS]; 2], word: u64) -> f64 {
    let angle = (word >> (64 - CELL_BITS)) as usize;
    let weight = f64::from(weights[word as usize % CELLS]);
    if angle < TAIL_CELLS { tail(word) + weight } else { f64::from(angles[angle]) + weight }
}

/// The angle's part from all bits that the weight's does not take.
#[cold]
fn tail(word: u64) -> f64 {
    of_angle(((word >> CELL_BITS) as f64 + 0.5) / (1_u64 << (64 - CELL_BITS)) as f64)
}

impl CompressedCounting {
    /// Returns the sum of all weights.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the entropy of the flows, in bits, by their share of all weights; `None` without any.
    pub fn entropy(&self) -> Option<Estimate> {
        if self.total == 0 {
            return None;
        }
        let (number, total) = (self.counters.len() as f64, self.total as f64);
        let mean = self.counters.iter().map(|counter| (counter / total).exp()).sum::<f64>() / number;
        let off = DEVIATIONS * (VARIANCE / number).sqrt();
        // There are no more flows than units, and one flow has no entropy.
        let bits = |nats: f64| (nats / LN_2).clamp(0.0, total.log2());
        let entropy = -mean.ln();
        let [lower, upper] = [1.0 - off, 1.0 + off].map(|factor| bits(entropy + factor.ln()));
        Some(Estimate::bounded(bits(entropy), lower, upper, CONFIDENCE))
    }
}

fn secret(seed: &Seed) -> u64 {
    let [secret] = seed.secrets(0xcc01);
    secret
}

impl Summary for CompressedCounting {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        LazyLock::force(&TABLES);
        Ok(Self {
            config: config.clone(),
            counters: filled(config.width, 0.0)?,
            secret: secret(&config.seed),
            total: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.counters.fill(0.0);
        self.total = 0;
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for CompressedCounting {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let tables = &*TABLES;
        for update in burst {
            let weight = update.weight as f64;
            // The flow's own sequence of random words, one for each counter.
            let mut state = update.hash ^ self.secret;
            for counter in &mut self.counters {
                *counter += weight * number(tables, split_mix(&mut state));
            }
            self.total = self.total.saturating_add(update.weight);
        }
    }
}

/// Counters are sums: merging equals one pass, but for what `f64` rounds off.
impl Merge for CompressedCounting {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.counters.iter_mut().zip(&other.counters).for_each(|(ours, theirs)| *ours += theirs);
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{self, BoundTally, OracleStream};
    use sketch::SizeDistribution;

    type Structure = CompressedCounting;

    fn config(counters: usize, number: u64) -> GridConfig<Structure> {
        GridConfig::with_width(counters, Seed::new(number))
    }

    /// E exp(θX) = θ^θ, which is all that the estimate stands on, for shares of all sizes.
    #[test]
    fn numbers_have_the_moments_of_the_stable_law() {
        const DRAWN: usize = 4_000_000;
        let mut state = 3;
        let words: Vec<u64> = (0..DRAWN).map(|_| split_mix(&mut state)).collect();
        for theta in [1.0, 0.5, 0.1, 1e-2, 1e-4_f64] {
            let powers = words.iter().map(|word| (theta * number(&TABLES, *word)).exp());
            let mean = powers.clone().sum::<f64>() / DRAWN as f64;
            let squares = powers.map(|power| (power - mean).powi(2)).sum::<f64>();
            let off = squares.sqrt() / DRAWN as f64;
            let truth = theta.powf(theta);
            // Five deviations, and what cells leave of a mean: three parts in ten thousand of the logarithm.
            let rounding = 3e-4 * truth * theta;
            assert!((mean - truth).abs() < 5.0 * off + rounding, "{theta}: {mean} for {truth}, ± {off}");
        }
    }

    #[test]
    fn bounds_hold_as_often_as_promised() {
        let streams = [
            OracleStream::zipf(3_000, 2_000, 1),
            OracleStream::drawn(2_000, 5, 0.0, 2, |_| 1),
            OracleStream::bytes(1_000, 300, 3),
        ];
        for stream in streams {
            let sizes = SizeDistribution::from_sizes(stream.counts.values().copied());
            let truth = sizes.entropy().expect("packets");
            let (mut promise, mut values) = (BoundTally::default(), vec![]);
            for number in 0..150 {
                let config = config(100, number);
                let of_seed = |update: &Update<_>| Update::new(update.key, update.weight, &config.seed);
                let updates: Vec<_> = stream.updates.iter().map(of_seed).collect();
                let sketch: Structure = oracle::summary_of(&config, &updates);
                let entropy = sketch.entropy().expect("packets");
                assert_eq!(sketch.total(), stream.total);
                promise.count(entropy, truth);
                // exp(−H) is what has no bias.
                values.push((-entropy.value * LN_2).exp() / (-truth * LN_2).exp());
            }
            promise.must_hold();
            let mean = values.iter().sum::<f64>() / 150.0;
            assert!((mean - 1.0).abs() < 5.0 * (VARIANCE / 15_000.0).sqrt(), "{mean} for {truth} bits");
        }
    }

    #[test]
    fn merges_resets_sizes_and_refusals() {
        let (first, second) = (OracleStream::zipf(2_000, 700, 1), OracleStream::zipf(500, 90, 2));
        let config = config(64, 1);
        oracle::reset_equals_new(&config, &first.updates, &second.updates, Structure::entropy);
        let one: Structure = oracle::summary_of(&config, &first.updates);
        let mut merged: Structure = oracle::summary_of(&config, &first.updates[..900]);
        merged.merge(&oracle::summary_of(&config, &first.updates[900..])).expect("equal configurations");
        let [one, merged] = [one, merged].map(|sketch| sketch.entropy().expect("packets").value);
        assert!((one - merged).abs() < 1e-9, "{one} {merged}");
        oracle::do_not_merge::<Structure>(&config, &self::config(65, 1));
        oracle::do_not_merge::<Structure>(&config, &self::config(64, 2));
        oracle::check_sizes::<Structure>();
        assert!(Structure::new(&self::config(15, 1)).is_err());
        let empty = Structure::new(&config).expect("a structure");
        assert_eq!(empty.entropy(), None);
        // One flow has none, whatever was drawn for it, and no stream more than all different.
        let of = |updates: &[Update<_>]| {
            let sketch: Structure = oracle::summary_of(&config, updates);
            sketch.entropy().expect("packets")
        };
        let flow = of(&vec![first.updates[0]; 300]);
        assert!(flow.value < 1.0 && flow.bounds.expect("bounds").contain(0.0), "{flow:?}");
        assert_eq!(of(&first.updates[..1]), Estimate::bounded(0.0, 0.0, 0.0, CONFIDENCE));
    }
}
