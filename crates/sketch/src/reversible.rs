//! The Reversible sketch (Schweller et al., IMC 2004): heavy addresses are read off the counters, with no list of keys.

mod keys;
mod mangling;
mod search;

pub use keys::{KeyBytes, ReversibleKeys, SharedReversibleKeys};

use super::combination::SummedCounters;
use super::count_min::count_min;
use super::counter_array::promise_of_least;
use super::counters::{CounterView, SplitCounters, Weights};
use super::grid::{CellIndices, Grid, GridConfig};
use super::row_hash::{MAX_ROWS, RowHash, place};
use super::summary::BURST;
use super::{
    Configuration, ErrorPromise, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary,
};
use super::{Unmergeable, Update, UpdateBurst};
use mangling::Mangling;

/// Words of a key: its bytes.
const WORDS: usize = 4;
/// Rows of the second sketch.
const VERIFYING: usize = 2;
/// Keys that a search finds before it stops: a longer list is useless.
pub(super) const MOST_FOUND: usize = 1 << 16;

/// Counters of 32-bit keys (addresses, prefixes) from which heavy keys can be recovered.
///
/// Keys are mangled by a bijection, so that neighbouring keys are no longer neighbours; each byte of the
/// mangled key chooses its own part of the index in a row (modular hashing), through one table for all rows.
/// So a heavy counter reveals a part of each byte, and the search proceeds byte by byte through what is heavy
/// in every row. What it finds is verified by a second sketch of two ordinary rows. The hash of an [`Update`]
/// is not used.
///
/// Answers are those of Count-Min over all rows; their bounds come from the two ordinary rows (Cormode and
/// Muthukrishnan 2005, theorem 1; of a list by what these rows hold, for all keys together). Each flow with the threshold or more is found, unless the answer states
/// that the search was cut short, as when a row has more than some 150 heavy counters of 4,096.
#[derive(Clone, Debug)]
pub struct ReversibleSketch {
    config: GridConfig<Self>,
    index: Index,
    /// The rows, then those of the second sketch.
    counters: SplitCounters<u32>,
    total: u64,
    saturated: u64,
}

/// The way from a key to its counters.
#[derive(Clone, Debug)]
struct Index {
    width: usize,
    mangling: Mangling,
    tables: Box<IndexTables>,
    verifying: [RowHash; VERIFYING],
}

impl Index {
    /// Calls `visit` with the counter of each of `ROWS` rows, then of the verifying ones.
    #[inline(always)]
    fn each<const ROWS: usize>(&self, key: u32, mut visit: impl FnMut(usize)) {
        let mangled = self.mangling.mangle(key);
        let lanes = lanes(&self.tables, mangled);
        for row in 0..ROWS {
            visit(row * self.width + lane(lanes, row));
        }
        for (row, hash) in self.verifying.iter().enumerate() {
            visit((ROWS + row) * self.width + place(hash.word(mangled.into()), self.width as u32));
        }
    }

    /// The counters of a key.
    #[inline(always)]
    fn places<const ROWS: usize>(&self, key: u32) -> [u32; MAX_ROWS] {
        let (mut places, mut row) = ([0; MAX_ROWS], 0);
        self.each::<ROWS>(key, |at| {
            places[row] = at as u32;
            row += 1;
        });
        places
    }

    #[inline(always)]
    fn count_into<const ROWS: usize, Packet>(
        &self,
        mut counters: impl CounterView,
        burst: &[Packet],
        of: impl Fn(&Packet) -> (u32, u64),
    ) {
        // What is near needs no time on its way.
        if !counters.are_far() {
            for (key, weight) in burst.iter().map(of) {
                self.each::<ROWS>(key, |at| counters.count(at, weight));
            }
            return;
        }
        let mut places: CellIndices = [[0; MAX_ROWS]; BURST];
        for burst in burst.chunks(BURST) {
            for (places, packet) in places.iter_mut().zip(burst) {
                *places = self.places::<ROWS>(of(packet).0);
                places[..ROWS + VERIFYING].iter().for_each(|at| counters.prefetch(*at as usize));
            }
            for (places, packet) in places.iter().zip(burst) {
                for at in &places[..ROWS + VERIFYING] {
                    counters.count(*at as usize, of(packet).1);
                }
            }
        }
    }
}

/// The words' parts of the index, each in its place, by word and its value, 16 bits a row.
type IndexTables = [[Lanes; 256]; WORDS];

/// Indices of the rows, 16 bits each, four in a word.
type Lanes = [u64; 2];

impl Grid for ReversibleSketch {
    const KIND: &'static str = "Reversible sketch";
    const ROWS: std::ops::RangeInclusive<usize> = 3..=6;
    const DEFAULT_ROWS: usize = 6;
    const WIDTH: std::ops::RangeInclusive<usize> = 256..=65_536;
    /// The base of which the width is a power: each word contributes the same number of bits.
    const POWER_OF: usize = 16;

    fn bytes(rows: usize, width: usize) -> usize {
        SplitCounters::<u32>::bytes_of((rows + VERIFYING) * width) + size_of::<IndexTables>()
    }

    fn promise(_: usize, width: usize) -> Option<ErrorPromise> {
        Some(promise_of_least(VERIFYING, width))
    }
}

#[inline(always)]
fn lane(lanes: Lanes, row: usize) -> usize {
    usize::from((lanes[row / 4] >> (16 * (row % 4))) as u16)
}

/// Indices in all rows.
#[inline(always)]
fn lanes(tables: &IndexTables, mangled: u32) -> Lanes {
    let [a, b, c, d] = mangled.to_be_bytes().map(usize::from);
    or(or(tables[0][a], tables[1][b]), or(tables[2][c], tables[3][d]))
}

#[inline(always)]
fn or(a: Lanes, b: Lanes) -> Lanes {
    [a[0] | b[0], a[1] | b[1]]
}

impl ReversibleSketch {
    /// Updates of a saturated counter that could not be counted in full.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Bits of an index that a word contributes.
    fn word_bits(config: &GridConfig<Self>) -> u32 {
        config.width.ilog2() / WORDS as u32
    }

    /// Random parts of the index for each word.
    fn draw_tables(config: &GridConfig<Self>) -> Box<IndexTables> {
        let bits = Self::word_bits(config);
        let mut tables = Box::new([[[0; 2]; 256]; WORDS]);
        for (word, table) in tables.iter_mut().enumerate() {
            let secrets: [u64; 512] = config.seed.secrets(0x4e0 + word as u64);
            for (lanes, secret) in table.iter_mut().zip(secrets.chunks_exact(2)) {
                for row in 0..config.rows {
                    // Sixteen bits of the secrets for each row.
                    let random = secret[row / 4] >> (16 * (row % 4)) & ((1 << bits) - 1);
                    let part = random << (bits as usize * (WORDS - 1 - word));
                    lanes[row / 4] |= part << (16 * (row % 4));
                }
            }
        }
        tables
    }

    fn all_places(&self, key: u32) -> impl Iterator<Item = usize> {
        let places = match self.config.rows {
            3 => self.index.places::<3>(key),
            4 => self.index.places::<4>(key),
            5 => self.index.places::<5>(key),
            _ => self.index.places::<6>(key),
        };
        places.into_iter().take(self.config.rows + VERIFYING).map(|place| place as usize)
    }

    /// Counts a packet of each of these keys: a burst without a list of updates.
    pub fn count_burst(&mut self, keys: &[u32]) {
        self.take(keys, Weights::ones(keys.len()), |key| (*key, 1));
    }

    /// Counts a burst of packets. `of`: a packet's key and weight.
    fn take<Packet>(&mut self, burst: &[Packet], weights: Weights, of: impl Fn(&Packet) -> (u32, u64)) {
        self.total = self.total.saturating_add(weights.sum);
        match self.config.rows {
            3 => self.update::<3, Packet>(burst, weights, of),
            4 => self.update::<4, Packet>(burst, weights, of),
            5 => self.update::<5, Packet>(burst, weights, of),
            _ => self.update::<6, Packet>(burst, weights, of),
        }
    }

    fn update<const ROWS: usize, Packet>(
        &mut self,
        burst: &[Packet],
        weights: Weights,
        of: impl Fn(&Packet) -> (u32, u64),
    ) {
        let Self { index, counters, saturated, total, .. } = self;
        // No counter has more than all.
        if *total >= u32::MAX.into() {
            counters.settle();
            index.count_into::<ROWS, Packet>(counters.weighed().growing::<true>(saturated), burst, of);
        } else if weights.are_ones
            && let Some(split) = counters.split()
        {
            index.count_into::<ROWS, Packet>(split, burst, of);
        } else {
            index.count_into::<ROWS, Packet>(counters.weighed().growing::<false>(saturated), burst, of);
        }
    }
}

impl Summary for ReversibleSketch {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let [first, second, ..] = RowHash::draw(&config.seed, 0x4e5);
        Ok(Self {
            config: config.clone(),
            index: Index {
                width: config.width,
                mangling: Mangling::new(&config.seed),
                tables: Self::draw_tables(config),
                verifying: [first, second],
            },
            counters: SplitCounters::new((config.rows + VERIFYING) * config.width)?,
            total: 0,
            saturated: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.counters.reset();
        (self.total, self.saturated) = (0, 0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl UpdateBurst<u32> for ReversibleSketch {
    fn update_burst(&mut self, burst: &[Update<u32>]) {
        self.take(burst, Weights::from_burst(burst), |update| (update.key, update.weight));
    }
}

/// Merging gives the sketch of one pass over both streams.
impl Merge for ReversibleSketch {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.total = self.total.saturating_add(other.total);
        self.saturated += other.saturated;
        self.counters.settle();
        let mut counters = self.counters.weighed().growing::<true>(&mut self.saturated);
        for (at, count) in other.counters.iter().enumerate() {
            counters.count(at, count.into());
        }
        Ok(())
    }
}

impl Frequency<u32> for ReversibleSketch {
    fn estimate(&self, key: &u32) -> Estimate {
        let counters = self.all_places(*key).map(|place| self.counters.get(place));
        count_min(counters, self.total, self.config.width, VERIFYING)
    }
}

impl HeavyHitters<u32> for ReversibleSketch {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<u32> {
        self.heavy_numbers(threshold, |_| true)
    }
}

impl SummedCounters for ReversibleSketch {
    fn counters(&self) -> impl Iterator<Item = f64> {
        self.counters.iter().map(f64::from)
    }

    fn number_of_counters(config: &GridConfig<Self>) -> usize {
        (config.rows + VERIFYING) * config.width
    }

    fn sum(&self) -> f64 {
        self.total as f64
    }

    fn weight(&self) -> f64 {
        self.total as f64
    }

    fn is_saturated(&self) -> bool {
        self.saturated > 0 || self.total == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, BoundTally, OracleStream};
    use super::*;
    use packet::Seed;
    use std::collections::HashMap;

    type Sketch = ReversibleSketch;

    fn config(rows: usize, width: usize, number: u64) -> GridConfig<Sketch> {
        GridConfig::new(rows, width, Seed::new(number))
    }

    /// The stream's flows as neighbouring addresses, which would confuse unmangled keys.
    fn addresses(stream: &OracleStream) -> (Vec<Update<u32>>, HashMap<u32, u64>) {
        let mut numbers = HashMap::new();
        let mut counts = HashMap::new();
        let address = |update: &Update<_>| {
            let next = 0x0a00_0000 + numbers.len() as u32;
            let key = *numbers.entry(update.key).or_insert(next);
            *counts.entry(key).or_insert(0) += update.weight;
            Update { key, hash: 0, weight: update.weight }
        };
        let updates = stream.updates.iter().map(address).collect();
        (updates, counts)
    }

    #[test]
    fn every_heavy_address_is_found_and_bounded() {
        for (rows, width, threshold) in [(6, 4096, 100), (4, 65_536, 40), (6, 256, 4_000)] {
            let mut close = BoundTally::default();
            for number in 0..25 {
                let stream = OracleStream::zipf(40_000, 8_000, number);
                let (updates, counts) = addresses(&stream);
                let config = config(rows, width, number);
                let sketch: Sketch = oracle::summary_of(&config, &updates);
                let found = sketch.heavy_hitters(threshold);
                assert!(!found.is_cut_short, "{config}");
                let listed: HashMap<u32, Estimate> = found.keys.into_iter().collect();
                for (key, count) in &counts {
                    let estimate = sketch.estimate(key);
                    let bounds = estimate.bounds.expect("bounds");
                    assert!(bounds.upper >= *count as f64 && estimate.value == bounds.upper);
                    assert_eq!(listed.contains_key(key), estimate.value >= threshold as f64, "{key:x}");
                }
                let key = updates[number as usize].key;
                close.count(sketch.estimate(&key), counts[&key] as f64);
                // Two more rows leave hardly any key that is in none of the packets.
                let ghosts = listed.keys().filter(|key| !counts.contains_key(key)).count();
                assert!(ghosts <= 1, "{ghosts} of {}", listed.len());
            }
            close.must_hold();
        }
    }

    #[test]
    fn a_search_that_would_take_too_long_says_so() {
        let (updates, _) = addresses(&OracleStream::zipf(40_000, 30_000, 1));
        let sketch: Sketch = oracle::summary_of(&config(6, 4096, 1), &updates);
        let found = sketch.heavy_hitters(0);
        assert!(found.is_cut_short);
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (updates, counts) = addresses(&OracleStream::zipf(9_000, 3_000, 1));
        let (second, _) = addresses(&OracleStream::bytes(5_000, 900, 2));
        let answers = |sketch: &Sketch| {
            let mut keys: Vec<_> = counts.keys().collect();
            keys.sort();
            let estimates: Vec<_> = keys.into_iter().map(|key| sketch.estimate(key)).collect();
            (sketch.heavy_hitters(200), estimates)
        };
        for config in [config(6, 4096, 1), config(4, 65_536, 1)] {
            oracle::merge_equals_one_pass(&config, &updates, answers);
            oracle::reset_equals_new(&config, &updates, &second, answers);
            let mut sketch = Sketch::new(&config).expect("a sketch");
            let keys: Vec<_> = updates.iter().map(|update| update.key).collect();
            keys.chunks(70).for_each(|keys| sketch.count_burst(keys));
            assert_eq!(answers(&sketch), answers(&oracle::summary_of(&config, &updates)));
        }
        oracle::do_not_merge::<Sketch>(&config(6, 4096, 1), &config(5, 4096, 1));
        oracle::check_sizes_in_steps::<Sketch>(16);
        for (rows, width) in [(6, 0), (6, 512), (2, 4096), (7, 4096)] {
            assert!(Sketch::new(&config(rows, width, 1)).is_err());
        }
    }

    /// Keys that collide with a key in a row under a known seed do not collide with it under another seed, in
    /// any row.
    #[test]
    fn keys_made_against_one_seed_do_not_meet_under_another() {
        const VICTIM: u32 = 0x0a00_0001;
        let [known, secret] = [1, 2].map(|number| Sketch::new(&config(4, 256, number)).expect("a sketch"));
        for row in 0..4 + VERIFYING {
            let meets = |sketch: &Sketch, key: u32| {
                sketch.index.places::<4>(key)[row] == sketch.index.places::<4>(VICTIM)[row]
            };
            let chosen: Vec<u32> = (0..100_000).filter(|key| meets(&known, *key)).collect();
            let still = chosen.iter().filter(|key| meets(&secret, **key)).count();
            assert!(
                chosen.len() > 200 && still < chosen.len() / 20,
                "row {row}: {still} of {}",
                chosen.len()
            );
        }
    }

    #[test]
    fn a_full_counter_leaves_no_upper_bound() {
        let update = |weight| Update { key: 1_u32, hash: 0, weight };
        let sketch: Sketch =
            oracle::summary_of(&config(3, 256, 1), &[update(u64::from(u32::MAX)), update(1)]);
        assert_eq!(sketch.saturated(), 5);
        let first: Sketch = oracle::summary_of(&config(3, 256, 1), &[update(1 << 32)]);
        assert_eq!(first.saturated(), 5);
        assert_eq!(sketch.estimate(&1).bounds.expect("bounds").upper, f64::INFINITY);
    }
}
