//! HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, AofA 2007): distinct counts of any size in a few kilobytes.

use super::confidence::{CONFIDENCE, DEVIATIONS};
use super::grid::{Grid, GridConfig};
use super::memory::{filled, prefetch};
use super::row_hash::{RowHash, place};
use super::summary::BURST;
use super::{
    Cardinality, Configuration, Estimate, Merge, SketchError, Summary, Unmergeable, Update, UpdateBurst,
};

/// Registers, each with the longest run of leading zeros among its flows.
///
/// The estimate is Ertl's improved one (New cardinality estimation algorithms for HyperLogLog sketches, 2017, algorithm 6), which needs
/// no other formula for small numbers. Its standard error is β / √m for m registers, with β from 1.106 for 16 to 1.04 for many; the
/// bounds are 1.96 times that, of the logarithm, with a confidence of 95 %.
#[derive(Clone, Debug)]
pub struct HyperLogLog {
    config: GridConfig<Self>,
    /// Hashes of the register and of the run.
    hashes: [RowHash; 2],
    registers: Box<[u8]>,
}

/// Bits in which a run is looked for.
const BITS: usize = 32;

/// The standard error times √m (Flajolet et al. 2007, theorem 1).
fn beta(registers: usize) -> f64 {
    match registers {
        16 => 1.106,
        32 => 1.070,
        64 => 1.054,
        128 => 1.046,
        _ => 1.04,
    }
}

impl HyperLogLog {
    /// Returns the relative error that the bounds leave upwards, which is the larger one, whatever is counted.
    pub fn relative_error(config: &GridConfig<Self>) -> f64 {
        off(config.width, DEVIATIONS) - 1.0
    }

    /// Returns the register of a hash.
    #[inline(always)]
    pub(crate) fn register(&self, hash: u64) -> usize {
        place(self.hashes[0].word(hash), self.config.width as u32)
    }

    /// Returns the run of a hash, which its register keeps if it is the longest.
    #[inline(always)]
    pub(crate) fn run(&self, hash: u64) -> u8 {
        self.hashes[1].word(hash).leading_zeros() as u8 + 1
    }

    /// Returns the registers.
    pub(crate) fn registers_mut(&mut self) -> &mut [u8] {
        &mut self.registers
    }
}

impl Grid for HyperLogLog {
    const KIND: &'static str = "HyperLogLog";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "number of registers";
    const WIDTH: std::ops::RangeInclusive<usize> = 16..=1 << 24;
    const POWER_OF: usize = 2;

    fn bytes(_: usize, registers: usize) -> usize {
        registers
    }
}

impl Summary for HyperLogLog {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let [register, run, ..] = RowHash::draw(&config.seed, 0x411);
        Ok(Self { config: config.clone(), hashes: [register, run], registers: filled(config.width, 0)? })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.registers.fill(0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for HyperLogLog {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let width = self.config.width as u32;
        let mut places = [0_u32; BURST];
        for burst in burst.chunks(BURST) {
            for (at, update) in places.iter_mut().zip(burst) {
                *at = place(self.hashes[0].word(update.hash), width) as u32;
                prefetch(&self.registers, *at as usize);
            }
            for (at, update) in places.iter().zip(burst) {
                let run = self.hashes[1].word(update.hash).leading_zeros() as u8 + 1;
                let register = &mut self.registers[*at as usize];
                *register = run.max(*register);
            }
        }
    }
}

/// Merging gives the registers of one pass over both streams.
impl Merge for HyperLogLog {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.registers.iter_mut().zip(&other.registers).for_each(|(ours, theirs)| *ours = *theirs.max(ours));
        Ok(())
    }
}

impl Cardinality for HyperLogLog {
    fn distinct(&self) -> Estimate {
        let mut counts = [0.0; BITS + 2];
        self.registers.iter().for_each(|run| counts[usize::from(*run)] += 1.0);
        let number = estimate(&counts);
        let off = off(self.registers.len(), DEVIATIONS);
        Estimate::bounded(number, number / off, number * off, CONFIDENCE)
    }
}

/// Returns the factor by which a number is within its estimate, either way, with this many standard deviations. Of few registers the
/// estimate is skewed: its logarithm is nearer to a normal one.
pub(crate) fn off(registers: usize, deviations: f64) -> f64 {
    (deviations * beta(registers) / (registers as f64).sqrt()).exp()
}

/// Estimates the number of flows by how many registers have each run, from none to the longest that they can hold.
pub(crate) fn estimate(counts: &[f64]) -> f64 {
    let size: f64 = counts.iter().sum();
    let longest = counts.len() - 1;
    let mut sum = size * tau(1.0 - counts[longest] / size);
    for count in counts[1..longest].iter().rev() {
        sum = f64::midpoint(sum, *count);
    }
    sum += size * sigma(counts[0] / size);
    size * size / (2.0 * std::f64::consts::LN_2 * sum)
}

/// x + Σ x^(2ᵏ) 2ᵏ⁻¹ over k ≥ 1.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut sum) = (1.0, x);
    loop {
        x *= x;
        let last = sum;
        sum += x * y;
        y += y;
        if sum == last {
            return sum;
        }
    }
}

/// (1 − x − Σ (1 − x^(2⁻ᵏ))² 2⁻ᵏ) / 3 over k ≥ 1.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut y, mut sum) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let last = sum;
        y *= 0.5;
        sum -= (1.0 - x).powi(2) * y;
        if sum == last {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, BoundTally};
    use super::*;
    use packet::Seed;

    fn flows(number: u64, count: u64) -> Vec<Update<u64>> {
        // Hashes as a good hash function gives them.
        let [secret] = Seed::new(number).secrets(1);
        let mut draw = super::super::draw::SketchRng::new(&Seed::new(secret), 1);
        (0..count).map(|key| Update { key, hash: draw.word(), weight: 1 }).collect()
    }

    #[test]
    fn the_bounds_hold_from_none_to_millions() {
        for (registers, counts) in
            [(64, &[1, 10, 100, 1_000, 100_000][..]), (4096, &[1, 1_000, 10_000, 30_000, 1_000_000])]
        {
            let mut promise = BoundTally::default();
            for &count in counts {
                let mut off = 0.0;
                let seeds = if count > 50_000 { 20 } else { 60 };
                for number in 0..seeds {
                    let config = GridConfig::with_width(registers, Seed::new(number));
                    let estimate =
                        oracle::summary_of::<HyperLogLog, _>(&config, &flows(number, count)).distinct();
                    promise.count(estimate, count as f64);
                    off += (estimate.value / count as f64 - 1.0) / seeds as f64;
                }
                let mean_off = 1.04 / (registers as f64 * seeds as f64).sqrt();
                assert!(
                    off.abs() < 5.0 * mean_off + 0.01,
                    "{registers} registers, {count} flows: bias {off}"
                );
            }
            promise.must_hold();
        }
    }

    #[test]
    fn few_registers_are_as_good_as_promised() {
        for registers in [16, 32] {
            let mut promise = BoundTally::default();
            for number in 0..4_000 {
                let config = GridConfig::with_width(registers, Seed::new(number));
                let summary: HyperLogLog = oracle::summary_of(&config, &flows(number, 1_000));
                promise.count(summary.distinct(), 1_000.0);
            }
            promise.must_hold();
        }
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (stream, second) = (flows(1, 3_000), flows(2, 50));
        let config = GridConfig::<HyperLogLog>::with_width(256, Seed::new(1));
        oracle::merge_equals_one_pass(&config, &stream, HyperLogLog::distinct);
        oracle::reset_equals_new(&config, &stream, &second, HyperLogLog::distinct);
        oracle::do_not_merge::<HyperLogLog>(&config, &GridConfig::with_width(512, config.seed));
        oracle::check_sizes::<HyperLogLog>();
        for width in [0, 8, 100] {
            assert!(HyperLogLog::new(&GridConfig::with_width(width, config.seed)).is_err());
        }
        assert_eq!(HyperLogLog::new(&config).expect("a structure").distinct().value, 0.0);
    }
}
