//! Distinct counts by bitmaps (Estan, Varghese, Fisk, IMC 2003; linear counting: Whang, Vander-Zanden, Taylor, TODS 1990).

use super::chernoff::mean_of;
use super::confidence::{CONFIDENCE, DEVIATIONS};
use super::grid::{Grid, GridConfig};
use super::memory::{filled, prefetch};
use super::row_hash::{RowHash, place};
use super::summary::BURST;
use super::{
    Cardinality, Configuration, Estimate, Merge, SketchError, Summary, Unmergeable, Update, UpdateBurst,
};

/// Below this many zeros their number is not normally distributed.
const FEW: u64 = 30;

/// A direct (linear) bitmap: a bit for each hash value.
///
/// The estimate is −m ln(zeros / m). Bounds: Whang's variance m (eᵗ − t − 1) and bias (eᵗ − t − 1) / 2 for t = n / m, normally
/// distributed, and one flow, with a confidence of 95 %; where nearly all bits are set, Chernoff's for the zeros. A full bitmap has no upper
/// bound.
#[derive(Clone, Debug)]
pub struct LinearBitmap {
    config: GridConfig<Self>,
    hash: RowHash,
    bits: Box<[u64]>,
}

impl Grid for LinearBitmap {
    const KIND: &'static str = "linear bitmap";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "number of bits";
    const WIDTH: std::ops::RangeInclusive<usize> = 8..=1 << 32;

    fn bytes(_: usize, bits: usize) -> usize {
        bits.div_ceil(64) * 8
    }
}

#[inline(always)]
fn set(bits: &mut [u64], at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

/// Sets the bits of a burst, whose places are prefetched first.
#[inline(always)]
fn set_all<K>(bits: &mut [u64], burst: &[Update<K>], place: impl Fn(u64) -> usize) {
    let mut places = [0; BURST];
    for burst in burst.chunks(BURST) {
        for (at, update) in places.iter_mut().zip(burst) {
            *at = place(update.hash);
            prefetch(bits, *at / 64);
        }
        places[..burst.len()].iter().for_each(|at| set(bits, *at));
    }
}

/// Sets the bits that are set in another bitmap.
fn unite(ours: &mut [u64], theirs: &[u64]) {
    ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours |= theirs);
}

fn ones(bits: &[u64]) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Returns the estimate of a bitmap of `size` bits, of which `zeros` are not set: the number, its variance and its bias.
fn linear(size: u64, zeros: u64) -> (f64, f64, f64) {
    let size = size as f64;
    let load = (size / zeros.max(1) as f64).ln();
    let excess = load.exp() - load - 1.0;
    (size * load, size * excess, excess / 2.0)
}

/// A number with its bounds, from its variance and bias; with few `zeros` of `size` bits, each for 1 / `scale` of the flows,
/// from those.
fn bounded((number, variance, bias): (f64, f64, f64), zeros: u64, size: u64, scale: f64) -> Estimate {
    // Two of few flows seldom collide, but then a whole flow is missing, which a normal distribution does not
    // model.
    let rounding = if number > 0.0 { scale } else { 0.0 };
    let off = DEVIATIONS * variance.sqrt() + bias + rounding;
    if zeros >= FEW {
        return Estimate::bounded(number, (number - off).max(0.0), number + off, CONFIDENCE);
    }
    let size = size as f64;
    let (fewest, most) = mean_of(zeros as f64, CONFIDENCE);
    let lower = scale * size * (size / most).ln().max(0.0);
    let upper = if zeros == 0 { f64::INFINITY } else { scale * size * (size / fewest).ln() };
    Estimate::bounded(number, lower.min(number - off).max(0.0), upper.max(number + off), CONFIDENCE)
}

/// Returns half of the distance between the bounds that are expected of this many flows, relative to their number.
fn relative_error(expected: Estimate, flows: f64) -> f64 {
    expected.bounds.map_or(f64::INFINITY, |bounds| (bounds.upper - bounds.lower) / 2.0 / flows)
}

/// Returns the bits of `size` that this many flows are expected to leave zero.
fn expected_zeros(size: u64, flows: f64) -> u64 {
    (size as f64 * (-flows / size as f64).exp()).round() as u64
}

impl LinearBitmap {
    /// Returns the relative error that the bounds of a bitmap of this configuration are expected to leave to this many flows; infinite where
    /// they are too many for it.
    pub fn relative_error(config: &GridConfig<Self>, flows: f64) -> f64 {
        let size = config.width as u64;
        relative_error(Self::from_zeros(size, expected_zeros(size, flows)), flows)
    }

    /// Returns the bit of a hash.
    #[inline(always)]
    pub(crate) fn place(&self, hash: u64) -> usize {
        share(self.hash.word(hash), self.config.width)
    }

    /// Returns the words of the bits.
    pub(crate) fn bits_mut(&mut self) -> &mut [u64] {
        &mut self.bits
    }

    fn from_zeros(size: u64, zeros: u64) -> Estimate {
        bounded(linear(size, zeros), zeros, size, 1.0)
    }
}

impl Summary for LinearBitmap {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, 0xb17)[0],
            bits: filled(config.width.div_ceil(64), 0)?,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.bits.fill(0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for LinearBitmap {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let (hash, width) = (self.hash, self.config.width);
        set_all(&mut self.bits, burst, |of| share(hash.word(of), width));
    }
}

/// Maps a hash word to a position, as [`place`] does, where the width may be 2³² too.
#[inline(always)]
fn share(word: u32, width: usize) -> usize {
    ((u64::from(word) * width as u64) >> 32) as usize
}

/// Merged bitmaps equal one that saw both streams in one pass.
impl Merge for LinearBitmap {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        unite(&mut self.bits, &other.bits);
        Ok(())
    }
}

impl Cardinality for LinearBitmap {
    fn distinct(&self) -> Estimate {
        let size = self.config.width as u64;
        Self::from_zeros(size, size - ones(&self.bits))
    }
}

/// Components, each of which takes half of the flows that the previous one leaves, and the last all the rest:
/// few flows are counted by the first, many by the last.
///
/// The estimate is computed from the finest component that is not too full and all after it. Bounds: the
/// variances of linear counting, and of taking one flow in 2ⁱ (binomial), normally distributed, and one flow
/// of the base, with a confidence of 95 %.
#[derive(Clone, Debug)]
pub struct MultiResolutionBitmap {
    config: GridConfig<Self>,
    /// Hashes of the component and of the bit.
    hashes: [RowHash; 2],
    bits: Box<[u64]>,
}

/// The way from a hash to a bit of one of the components.
#[derive(Clone, Copy)]
struct ComponentPlaces {
    hashes: [RowHash; 2],
    /// The last component.
    last: usize,
    /// Words of a component.
    words: usize,
    width: u32,
}

impl ComponentPlaces {
    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        let [component, bit] = self.hashes;
        let component = (component.word(hash).leading_zeros() as usize).min(self.last);
        component * self.words * 64 + place(bit.word(hash), self.width)
    }
}

/// Share of its bits up to which a component is used. Above, its own error is larger than that of the next (section 4.2).
const FULLEST: f64 = 0.93;

impl Grid for MultiResolutionBitmap {
    const KIND: &'static str = "multi-resolution bitmap";
    /// Components.
    const ROWS: std::ops::RangeInclusive<usize> = 2..=32;
    const DEFAULT_ROWS: usize = 16;
    const UNIT: &'static str = "number of bits";
    const WIDTH: std::ops::RangeInclusive<usize> = 64..=u32::MAX as usize;

    fn bytes(rows: usize, bits: usize) -> usize {
        rows * bits.div_ceil(64) * 8
    }
}

impl MultiResolutionBitmap {
    /// Returns the relative error that the bounds of a bitmap of this configuration are expected to leave to this many flows; infinite where
    /// they are too many for it.
    pub fn relative_error(config: &GridConfig<Self>, flows: f64) -> f64 {
        let (size, last) = (config.width as u64, config.rows - 1);
        // A component takes half of what the one before it left, and the last all of it.
        let taken = |component: usize| flows * 0.5_f64.powi((component + 1).min(last) as i32);
        let zeros: Vec<u64> = (0..=last).map(|component| expected_zeros(size, taken(component))).collect();
        relative_error(Self::from_zeros(size, &zeros), flows)
    }

    fn words(&self) -> usize {
        self.config.width.div_ceil(64)
    }

    #[inline(always)]
    fn places(&self) -> ComponentPlaces {
        let (last, words) = (self.config.rows - 1, self.words());
        ComponentPlaces { hashes: self.hashes, last, words, width: self.config.width as u32 }
    }

    /// Returns the bit of a hash.
    #[inline(always)]
    pub(crate) fn place(&self, hash: u64) -> usize {
        self.places().place(hash)
    }

    /// Returns the words of the bits.
    pub(crate) fn bits_mut(&mut self) -> &mut [u64] {
        &mut self.bits
    }

    /// Returns the estimate of components of `size` bits, of which these numbers are not set.
    fn from_zeros(size: u64, zeros: &[u64]) -> Estimate {
        let least = ((1.0 - FULLEST) * size as f64) as u64;
        let last = zeros.len() - 1;
        // From the coarsest on to finer ones while they are not too full.
        let base = last - zeros[..last].iter().rev().take_while(|zeros| **zeros >= least).count();
        let parts = zeros[base..].iter().map(|zeros| linear(size, *zeros));
        let (number, variance, bias) = parts.fold((0.0, 0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        let scale = (1_u64 << base) as f64;
        let all = number * scale;
        // One flow in `scale` reaches the base and the components after it.
        let sampling = all * (scale - 1.0);
        bounded((all, variance * scale * scale + sampling, bias * scale), zeros[base], size, scale)
    }
}

impl Summary for MultiResolutionBitmap {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let [component, bit, ..] = RowHash::draw(&config.seed, 0x3b17);
        let bits = filled(config.rows * config.width.div_ceil(64), 0)?;
        Ok(Self { config: config.clone(), hashes: [component, bit], bits })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.bits.fill(0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for MultiResolutionBitmap {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let places = self.places();
        set_all(&mut self.bits, burst, |of| places.place(of));
    }
}

/// Merged bitmaps equal one that saw both streams in one pass.
impl Merge for MultiResolutionBitmap {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        unite(&mut self.bits, &other.bits);
        Ok(())
    }
}

impl Cardinality for MultiResolutionBitmap {
    fn distinct(&self) -> Estimate {
        let size = self.config.width as u64;
        let zeros: Vec<u64> = self.bits.chunks(self.words()).map(|bits| size - ones(bits)).collect();
        Self::from_zeros(size, &zeros)
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, BoundTally};
    use super::*;
    use packet::{KeyV4, Seed};

    /// Updates of this many flows, each twice.
    fn flows(number: u64, count: u32) -> Vec<Update<KeyV4>> {
        let seed = Seed::new(number);
        let of = |i: u32| {
            let [a, b, c, d] = i.to_be_bytes();
            Update::new(KeyV4::new([10, a, b, c, 192, 0, 2, d], [1, 2, 3, 4], 17), 1, &seed)
        };
        (0..count).chain(0..count).map(of).collect()
    }

    fn keeps_its_promise<S>(config: impl Fn(Seed) -> S::Configuration, counts: &[u32], most_off: f64)
    where
        S: Cardinality + UpdateBurst<KeyV4>,
    {
        let mut promise = BoundTally::default();
        for &count in counts {
            let mut off = 0.0;
            for number in 0..40 {
                let config = config(Seed::new(number));
                let estimate = oracle::summary_of::<S, _>(&config, &flows(number, count)).distinct();
                promise.count(estimate, count.into());
                off += (estimate.value / f64::from(count) - 1.0).powi(2) / 40.0;
            }
            assert!(off.sqrt() < most_off, "{count} flows: off by {}", off.sqrt());
        }
        promise.must_hold();
    }

    #[test]
    fn the_linear_bitmap_keeps_its_promise() {
        let config = |seed| GridConfig::with_width(1000, seed);
        keeps_its_promise::<LinearBitmap>(config, &[1, 2, 10, 100, 1000, 2000, 4000], 0.1);
        // Nearly full and full: a bad estimate, but a valid bound.
        keeps_its_promise::<LinearBitmap>(config, &[6_000, 8_000, 20_000], 0.9);
        let full: LinearBitmap = oracle::summary_of(&config(Seed::new(1)), &flows(1, 20_000));
        assert_eq!(full.distinct().bounds.expect("bounds").upper, f64::INFINITY);
    }

    #[test]
    fn the_multi_resolution_bitmap_keeps_its_promise() {
        let config = |seed| GridConfig::new(12, 1000, seed);
        keeps_its_promise::<MultiResolutionBitmap>(
            config,
            &[1, 2, 10, 100, 1000, 5_000, 50_000, 300_000],
            0.06,
        );
        // Too many for four components.
        let config = |seed| GridConfig::new(4, 64, seed);
        keeps_its_promise::<MultiResolutionBitmap>(config, &[2_000, 20_000], 0.95);
    }

    /// With this many, two flows collide in about one stream of six: the bound must allow for it.
    #[test]
    fn few_flows_are_within_the_bounds() {
        fn of<S: Cardinality<Configuration = GridConfig<S>> + UpdateBurst<KeyV4> + Grid>(
            rows: usize,
            bits: usize,
            count: u32,
        ) {
            let mut promise = BoundTally::default();
            for number in 0..400 {
                let config = GridConfig::new(rows, bits, Seed::new(number));
                let summary: S = oracle::summary_of(&config, &flows(number, count));
                promise.count(summary.distinct(), count.into());
            }
            promise.must_hold();
        }
        of::<LinearBitmap>(1, 1_000, 18);
        of::<LinearBitmap>(1, 100_000, 185);
        of::<MultiResolutionBitmap>(12, 1_000, 30);
    }

    /// A planner compares structures by it, so it must be what the bounds of counted streams are.
    #[test]
    fn the_expected_error_is_that_of_the_bounds() {
        fn of<S>(
            config: impl Fn(Seed) -> GridConfig<S>,
            error: fn(&GridConfig<S>, f64) -> f64,
            counts: &[u32],
        ) where
            S: Cardinality<Configuration = GridConfig<S>> + UpdateBurst<KeyV4> + Grid,
        {
            for &count in counts {
                let truth = f64::from(count);
                let half_width = |number: u64| {
                    let config = config(Seed::new(number));
                    let found = oracle::summary_of::<S, _>(&config, &flows(number, count)).distinct();
                    let bounds = found.bounds.expect("bounds");
                    (bounds.upper - bounds.lower) / 2.0 / truth
                };
                let mean = (0..20).map(half_width).sum::<f64>() / 20.0;
                let expected = error(&config(Seed::new(0)), truth);
                assert!((expected / mean - 1.0).abs() < 0.15, "{count}: {expected} {mean}");
            }
        }
        let linear = |seed| GridConfig::with_width(2_000, seed);
        of(linear, LinearBitmap::relative_error, &[200, 2_000, 4_000]);
        let many = |seed| GridConfig::new(12, 1_000, seed);
        of(many, MultiResolutionBitmap::relative_error, &[500, 5_000, 40_000]);
        let full = GridConfig::with_width(64, Seed::new(1));
        assert_eq!(LinearBitmap::relative_error(&full, 1e6), f64::INFINITY);
        let full = GridConfig::new(3, 64, Seed::new(1));
        assert_eq!(MultiResolutionBitmap::relative_error(&full, 1e9), f64::INFINITY);
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (stream, second) = (flows(1, 3_000), flows(1, 50));
        let linear = GridConfig::<LinearBitmap>::with_width(5_000, Seed::new(1));
        let many = GridConfig::<MultiResolutionBitmap>::new(5, 500, Seed::new(1));
        oracle::merge_equals_one_pass(&linear, &stream, LinearBitmap::distinct);
        oracle::merge_equals_one_pass(&many, &stream, MultiResolutionBitmap::distinct);
        oracle::reset_equals_new(&linear, &stream, &second, LinearBitmap::distinct);
        oracle::reset_equals_new(&many, &stream, &second, MultiResolutionBitmap::distinct);
        oracle::do_not_merge::<LinearBitmap>(&linear, &GridConfig::with_width(5_001, linear.seed));
        oracle::do_not_merge::<MultiResolutionBitmap>(&many, &GridConfig::new(6, 500, many.seed));
        oracle::check_sizes::<LinearBitmap>();
        oracle::check_sizes::<MultiResolutionBitmap>();
        assert!(LinearBitmap::new(&GridConfig::with_width(0, linear.seed)).is_err());
        assert!(MultiResolutionBitmap::new(&GridConfig::new(1, 500, linear.seed)).is_err());
        assert!(MultiResolutionBitmap::new(&GridConfig::new(4, 0, linear.seed)).is_err());
    }

    #[test]
    fn nothing_seen_is_no_flow() {
        let linear = LinearBitmap::new(&GridConfig::with_width(100, Seed::new(1))).expect("a structure");
        let many = MultiResolutionBitmap::new(&GridConfig::new(5, 100, Seed::new(1))).expect("a structure");
        let none = Estimate::bounded(0.0, 0.0, 0.0, CONFIDENCE);
        assert_eq!((linear.distinct(), many.distinct()), (none, none));
    }
}
