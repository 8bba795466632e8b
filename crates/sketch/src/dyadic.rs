//! Ranges and quantiles of a number that packets have (a length, a port, an address): a Count-Min array for each power
//! of two by which the numbers are grouped (dyadic intervals; Cormode, Muthukrishnan 2005, section 4.2 and 5.2).

use super::confidence::CONFIDENCE;
use super::counters::SplitCounters;
use super::grid::widest;
use super::memory::filled;
use super::{
    ArrayConfig, Configuration, CountMin, CounterArray, CounterCell, Estimate, Merge, SketchError, Summary,
    Unmergeable, Update, UpdateBurst,
};
use packet::{Key, KeyV4, Seed};
use std::fmt;

const KIND: &str = "dyadic_count_min";

/// The purpose of the levels' seeds.
const PURPOSE: u64 = 2;

/// Counters of a row, if only the memory is given.
const MOST_WIDTH: usize = 1 << 29;

/// Updates that pass through the levels together.
const BATCH: usize = 64;

/// Sizes and seed of dyadic arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DyadicConfig {
    bits: u32,
    depth: usize,
    width: usize,
    is_wide: bool,
    seed: Seed,
}

impl DyadicConfig {
    /// Creates the sizes for numbers below 2^`bits`, each level of `depth` rows of `width` counters of 32 bits. Levels with no more
    /// intervals than that are exact, and have counters of 64 bits, as they hold the sums of all finer levels.
    ///
    /// # Errors
    /// If the sizes are not possible.
    pub fn new(bits: u32, depth: usize, width: usize, seed: Seed) -> Result<Self, SketchError> {
        SketchError::check_size(KIND, "number of bits", bits as usize, 1, 64)?;
        ArrayConfig::<CountMin>::new(depth, width, seed)?;
        Ok(Self { bits, depth, width, is_wide: false, seed })
    }

    /// Returns the configuration with counters of 64 bits on all levels, which take twice the memory: for weights in bytes, as one number
    /// may have more than 4 GB.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { is_wide: true, ..self }
    }

    /// Returns the largest configuration for numbers below 2^`bits` that takes no more than `bytes`; three rows a level.
    ///
    /// # Errors
    /// If the memory is below the least, with the least; if the bits are not possible.
    pub fn for_bits(bits: u32, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        let sized = |width| Self::new(bits, 3, width, seed);
        let least = sized(1)?.bytes();
        if least > bytes {
            return Err(SketchError::TooLittleMemory { kind: KIND, bytes, least });
        }
        // A wider array never takes less.
        sized(widest(1..=MOST_WIDTH, |width| sized(width).is_ok_and(|sized| sized.bytes() <= bytes)))
    }

    /// Counters of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Intervals at a level whose intervals are 2^`level` long, if they are few enough that each has a
    /// counter.
    fn exact_intervals(&self, level: u32) -> Option<usize> {
        let intervals = 1_usize.checked_shl(self.bits - level).filter(|&intervals| intervals > 0)?;
        (intervals <= self.depth * self.width).then_some(intervals)
    }

    /// Levels that are estimated.
    fn sketched_levels(&self) -> usize {
        (0..self.bits).filter(|&level| self.exact_intervals(level).is_none()).count()
    }
}

impl Configuration for DyadicConfig {
    /// Creates the configuration for numbers of 32 bits (an IPv4 address, a length).
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::for_bits(32, bytes, seed)
    }

    fn bytes(&self) -> usize {
        let array = if self.is_wide { array_bytes::<u64> } else { array_bytes::<u32> };
        let sketched = array(self.depth * self.width);
        let exact = |level| self.exact_intervals(level).map(|intervals| intervals * size_of::<u64>());
        let levels = (0..self.bits).map(|level| exact(level).unwrap_or(sketched));
        levels.sum::<usize>() + self.bits as usize * size_of::<DyadicLevel>()
    }

    fn seed(&self) -> &Seed {
        &self.seed
    }
}

impl fmt::Display for DyadicConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counter = if self.is_wide { u64::NAME } else { u32::NAME };
        write!(f, "{KIND} bits={} depth={} width={} counter={counter}", self.bits, self.depth, self.width)
    }
}

/// Memory of a level's array with the level's own hash functions.
const fn array_bytes<C: CounterCell>(counters: usize) -> usize {
    size_of::<CounterArray<CountMin<C>>>() + SplitCounters::<C>::bytes_of(counters)
}

/// The secret hash of an interval, by its level's seed: numbers that follow a pattern would collide in
/// several rows at once, as rows are digits of one word.
#[inline(always)]
fn hash_of<C: CounterCell>(interval: u64, array: &CounterArray<CountMin<C>>) -> u64 {
    KeyV4::new(interval.to_be_bytes(), [0; 4], 0).hash(array.configuration().seed())
}

/// The counts of all intervals of one length.
#[derive(Clone, Debug)]
enum DyadicLevel {
    Exact(Box<[u64]>),
    Sketched(Box<CounterArray<CountMin>>),
    Wide(Box<CounterArray<CountMin<u64>>>),
}

/// An array of a level, with its own seed.
fn sketched<C: CounterCell>(
    configuration: &DyadicConfig,
    seed: u64,
) -> Result<Box<CounterArray<CountMin<C>>>, SketchError> {
    let array = ArrayConfig::new(configuration.depth, configuration.width, Seed::new(seed))?;
    Ok(Box::new(CounterArray::new(&array)?))
}

fn estimated<C: CounterCell>(interval: u64, array: &CounterArray<CountMin<C>>) -> (f64, bool) {
    let estimate = array.estimate_hash(hash_of(interval, array));
    (estimate.value, estimate.bounds.is_some())
}

fn count<C: CounterCell>(updates: &mut [Update<u64>], array: &mut CounterArray<CountMin<C>>) {
    updates.iter_mut().for_each(|update| update.hash = hash_of(update.key, array));
    array.update_burst(updates);
}

impl DyadicLevel {
    /// An upper bound of the interval's weight, and whether it is known.
    fn weight(&self, interval: u64) -> (f64, bool) {
        match self {
            Self::Exact(cells) => {
                let cell = cells[interval as usize];
                (cell.to_f64(), !cell.is_at_limit())
            }
            Self::Sketched(array) => estimated(interval, array),
            Self::Wide(array) => estimated(interval, array),
        }
    }

    fn is_sketched(&self) -> bool {
        !matches!(self, Self::Exact(_))
    }
}

/// A summary of the ranges and quantiles of a number that packets have. The number is the packets' key; their hash is not used.
#[derive(Clone, Debug)]
pub struct DyadicArray {
    configuration: DyadicConfig,
    /// Levels by the length of the intervals: 1, 2, 4, …
    levels: Vec<DyadicLevel>,
    total: u64,
    beyond: u64,
}

impl DyadicArray {
    /// Weight of the numbers within the universe.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Weight of numbers that have more bits than the configuration allows. It is counted nowhere else.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    fn largest(&self) -> u64 {
        u64::MAX >> (64 - self.configuration.bits)
    }

    /// Noise of an interval that is exceeded in all rows with the probability `k`^(−d).
    fn noise(&self, k: f64) -> f64 {
        k * self.total as f64 / self.configuration.width as f64
    }

    /// The weight of the numbers from `first` to `last`, both included.
    ///
    /// Never less than the truth, and with a probability of 1 − e^(−d) at most e·m·N/w more, m being the estimated intervals that the
    /// range is made of, at most two a level (Cormode, Muthukrishnan, Theorem 4).
    pub fn range(&self, first: u64, last: u64) -> Estimate {
        let (mut first, mut last) = (first, last.min(self.largest()));
        if (first, last) == (0, self.largest()) {
            let total = self.total as f64;
            return if self.total == u64::MAX { Estimate::unbounded(total) } else { Estimate::exact(total) };
        }
        let (mut value, mut is_known, mut estimated) = (0.0, true, 0);
        for level in &self.levels {
            if first > last {
                break;
            }
            let mut add = |interval: u64| {
                let (weight, known) = level.weight(interval);
                value += weight;
                is_known &= known;
                estimated += usize::from(level.is_sketched());
            };
            if first == last {
                add(first);
                break;
            }
            // An interval whose other half is outside is kept whole; the rest are halves of longer ones.
            if first & 1 == 1 {
                add(first);
                first += 1;
            }
            if last & 1 == 0 {
                add(last);
                last -= 1;
            }
            (first, last) = (first >> 1, last >> 1);
        }
        if !is_known {
            return Estimate::unbounded(value);
        }
        let noise = self.noise(std::f64::consts::E) * estimated as f64;
        let confidence = if estimated == 0 { 1.0 } else { 1.0 - (-(self.configuration.depth as f64)).exp() };
        Estimate::bounded(value, (value - noise).max(0.0), value, confidence)
    }

    /// The least number such that `share` of the weight, from 0 to 1, is not above it; none if nothing was
    /// counted.
    ///
    /// Estimates on the way down are never too small, so that the number is never too large. With a probability of 0.95
    /// none of them is more than k·N/w too large, k = (levels / 0.05)^(1/d), and what a search for that much more on every
    /// level finds is not too small. (The union bound of section 5.2, kept for the levels that are estimated.)
    pub fn quantile(&self, share: f64) -> Option<Estimate> {
        if self.total == 0 {
            return None;
        }
        let target = (share.clamp(0.0, 1.0) * self.total as f64).ceil().max(1.0);
        let levels = self.configuration.sketched_levels() as f64;
        let k = (levels / (1.0 - CONFIDENCE)).powf(1.0 / self.configuration.depth as f64);
        let (value, is_known) = self.descend(target);
        let (upper, is_upper_known) = self.descend(target + self.noise(k) * levels);
        if !is_known || !is_upper_known {
            return Some(Estimate::unbounded(value as f64));
        }
        let confidence = if levels == 0.0 { 1.0 } else { CONFIDENCE };
        Some(Estimate::bounded(value as f64, value as f64, upper as f64, confidence))
    }

    /// The first number up to which the intervals on the way down have `target`, and whether all of them are known.
    fn descend(&self, mut target: f64) -> (u64, bool) {
        let (mut at, mut is_known) = (0, true);
        for level in self.levels.iter().rev() {
            at <<= 1;
            let (left, known) = level.weight(at);
            is_known &= known;
            if left < target {
                target -= left;
                at += 1;
            }
        }
        (at, is_known)
    }
}

impl Summary for DyadicArray {
    type Configuration = DyadicConfig;

    fn new(configuration: &DyadicConfig) -> Result<Self, SketchError> {
        // A seed for each level: so the errors of the levels are independent.
        let seeds: [u64; 64] = configuration.seed.secrets(PURPOSE);
        let level = |level: u32| match configuration.exact_intervals(level) {
            Some(intervals) => Ok(DyadicLevel::Exact(filled(intervals, 0)?)),
            None if configuration.is_wide => {
                Ok(DyadicLevel::Wide(sketched(configuration, seeds[level as usize])?))
            }
            None => Ok(DyadicLevel::Sketched(sketched(configuration, seeds[level as usize])?)),
        };
        let levels = (0..configuration.bits).map(level).collect::<Result<_, SketchError>>()?;
        Ok(Self { configuration: *configuration, levels, total: 0, beyond: 0 })
    }

    fn configuration(&self) -> &DyadicConfig {
        &self.configuration
    }

    fn reset(&mut self) {
        for level in &mut self.levels {
            match level {
                DyadicLevel::Exact(cells) => cells.fill(0),
                DyadicLevel::Sketched(array) => array.reset(),
                DyadicLevel::Wide(array) => array.reset(),
            }
        }
        (self.total, self.beyond) = (0, 0);
    }

    fn bytes(&self) -> usize {
        let bytes = |level: &DyadicLevel| match level {
            DyadicLevel::Exact(cells) => size_of_val(&**cells),
            DyadicLevel::Sketched(array) => size_of_val(&**array) + array.bytes(),
            DyadicLevel::Wide(array) => size_of_val(&**array) + array.bytes(),
        };
        self.levels.iter().map(bytes).sum::<usize>() + size_of_val(&*self.levels)
    }
}

impl UpdateBurst<u64> for DyadicArray {
    fn update_burst(&mut self, burst: &[Update<u64>]) {
        let largest = self.largest();
        let mut kept = [Update::<u64>::default(); BATCH];
        for burst in burst.chunks(BATCH) {
            let mut len = 0;
            for update in burst {
                if update.key > largest {
                    self.beyond = self.beyond.saturating_add(update.weight);
                    continue;
                }
                self.total = self.total.saturating_add(update.weight);
                kept[len] = Update { key: update.key, hash: 0, weight: update.weight };
                len += 1;
            }
            let kept = &mut kept[..len];
            for level in &mut self.levels {
                match level {
                    DyadicLevel::Exact(cells) => kept.iter().for_each(|update| {
                        let cell = &mut cells[update.key as usize];
                        *cell = cell.plus(update.weight);
                    }),
                    DyadicLevel::Sketched(array) => count(kept, array),
                    DyadicLevel::Wide(array) => count(kept, array),
                }
                kept.iter_mut().for_each(|update| update.key >>= 1);
            }
        }
    }
}

impl Merge for DyadicArray {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.configuration, &other.configuration)?;
        for (level, theirs) in self.levels.iter_mut().zip(&other.levels) {
            match (level, theirs) {
                (DyadicLevel::Exact(cells), DyadicLevel::Exact(theirs)) => {
                    cells.iter_mut().zip(theirs).for_each(|(cell, theirs)| *cell = cell.sum(*theirs));
                }
                (DyadicLevel::Sketched(array), DyadicLevel::Sketched(theirs)) => array.merge(theirs)?,
                (DyadicLevel::Wide(array), DyadicLevel::Wide(theirs)) => array.merge(theirs)?,
                _ => unreachable!("equal configurations have equal levels"),
            }
        }
        self.total = self.total.saturating_add(other.total);
        self.beyond = self.beyond.saturating_add(other.beyond);
        Ok(())
    }
}
