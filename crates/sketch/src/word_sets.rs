//! The Reversible sketch for keys of any length, as Wu et al. build it (2016, section 2.2.2 and Algorithm 5):
//! each counter keeps the values of its keys' bytes.

use super::count_min::{count_min, read_off};
use super::counter_array::promise_of_least;
use super::counters::add;
use super::grid::{Grid, GridConfig, GridRows};
use super::memory::{filled, prefetch};
use super::reversible::MOST_FOUND;
use super::row_hash::MAX_ROWS;
use super::{
    ByteKey, Configuration, ErrorPromise, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError,
};
use super::{Summary, Unmergeable, Update, UpdateBurst};
use arena::ones;
use std::marker::PhantomData;

/// Words of the set of one byte's values, a bit each.
pub(crate) const SET: usize = 4;
/// Updates at a time: each prefetches dozens of cache lines.
pub(crate) const BURST: usize = 8;
/// Bytes of keys that a search intersects, lists and combines before it stops: about a second.
const MOST_STEPS: u64 = 1 << 27;
/// The purpose of its rows.
pub(crate) const PURPOSE: u64 = 0x5e75;
/// The most bytes of a key.
pub(crate) const MOST_KEY: usize = 40;

/// Counters with the sets of values that each byte of their keys had: 33 bytes for each byte of a key, so that a counter of
/// an IPv4 5-tuple takes half a kilobyte.
///
/// Heavy keys are found by intersecting the sets of one heavy counter a row; the remaining values of each
/// byte are combined into candidates, of which those are kept that lie in exactly these counters. Answers and
/// bounds are those of Count-Min, of a list for all keys together. Each flow with the threshold or more is found, unless the answer states
/// that the search was cut short, as when many flows share each counter.
#[derive(Clone, Debug)]
pub struct ReversibleSets<K: ByteKey> {
    config: GridConfig<Self>,
    rows: GridRows,
    /// Cells of [`stride`] words: the counter, then the sets.
    words: Box<[u64]>,
    total: u64,
    saturated: u64,
    key: PhantomData<fn() -> K>,
}

/// Words of a cell.
const fn stride(key_bytes: usize) -> usize {
    1 + key_bytes * SET
}

impl<K: ByteKey> Grid for ReversibleSets<K> {
    const KIND: &'static str = "Reversible sketch with sets";
    const DEFAULT_ROWS: usize = 4;
    const WIDTH: std::ops::RangeInclusive<usize> = 1..=u32::MAX as usize / MAX_ROWS;

    fn bytes(rows: usize, width: usize) -> usize {
        rows * width * stride(K::BYTES) * size_of::<u64>()
    }

    fn promise(rows: usize, width: usize) -> Option<ErrorPromise> {
        Some(promise_of_least(rows, width))
    }
}

impl<K: ByteKey> ReversibleSets<K> {
    /// Updates of a saturated counter that could not be counted in full.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Sets a cell to that of another sketch: its counter, which may be larger than one here, and its sets.
    pub(crate) fn set(&mut self, cell: usize, count: u64, sets: impl Iterator<Item = u64>) {
        let cell = &mut self.words[cell * stride(K::BYTES)..][..stride(K::BYTES)];
        let (count, over) = add(0, count);
        cell[0] = count.into();
        self.saturated += over;
        cell[1..].iter_mut().zip(sets).for_each(|(word, set)| *word = set);
    }

    /// Sets the weight of all updates to that of another sketch.
    pub(crate) fn set_total(&mut self, total: u64) {
        self.total = total;
    }

    /// True if both hold the same.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn is_equal(&self, other: &Self) -> bool {
        self.words == other.words && self.total == other.total
    }

    fn count(&self, cell: usize) -> u32 {
        self.words[cell * stride(K::BYTES)] as u32
    }

    fn sets(&self, cell: usize) -> &[u64] {
        &self.words[cell * stride(K::BYTES)..][1..stride(K::BYTES)]
    }
}

/// A search through combinations of heavy counters, one a row.
struct CombinationSearch<'a, K: ByteKey> {
    sketch: &'a ReversibleSets<K>,
    /// Heavy cells by row.
    heavy: Vec<Vec<usize>>,
    chosen: Vec<usize>,
    steps: u64,
    is_cut_short: bool,
    found: Vec<(K, Estimate)>,
}

type Sets = [u64; MOST_KEY * SET];

/// The values of a set in their order, and their number.
fn list(set: &[u64], values: &mut [u8; 256]) -> usize {
    let mut len = 0;
    for (base, word) in (0..).step_by(64).zip(set) {
        for bit in ones(*word) {
            values[len] = (base + bit) as u8;
            len += 1;
        }
    }
    len
}

impl<K: ByteKey> CombinationSearch<'_, K> {
    /// Accounts for work on this many bytes. False if it is too much.
    fn step(&mut self, bytes: usize) -> bool {
        self.steps += bytes as u64;
        self.is_cut_short |= self.steps > MOST_STEPS || self.found.len() > MOST_FOUND;
        !self.is_cut_short
    }

    /// Continues in the next row with what is left of the sets.
    fn go_on(&mut self, left: &Sets) {
        let row = self.chosen.len();
        if row == self.heavy.len() {
            return self.candidates(left);
        }
        for at in 0..self.heavy[row].len() {
            if !self.step(K::BYTES) {
                return;
            }
            let cell = self.heavy[row][at];
            let mut both = *left;
            both.iter_mut().zip(self.sketch.sets(cell)).for_each(|(left, set)| *left &= set);
            if both[..K::BYTES * SET].chunks_exact(SET).all(|set| set.iter().any(|word| *word != 0)) {
                self.chosen.push(cell);
                self.go_on(&both);
                self.chosen.pop();
            }
        }
    }

    /// Every key whose bytes are in the sets, like the numbers of an odometer.
    fn candidates(&mut self, left: &Sets) {
        let mut values = [[0; 256]; MOST_KEY];
        let mut lens = [0; MOST_KEY];
        for ((values, len), set) in
            values.iter_mut().zip(&mut lens).zip(left[..K::BYTES * SET].chunks_exact(SET))
        {
            *len = list(set, values);
        }
        if !self.step(K::BYTES * SET + lens.iter().sum::<usize>()) {
            return;
        }
        let mut wheels = [0; MOST_KEY];
        loop {
            if !self.step(K::BYTES) {
                return;
            }
            let mut bytes = [0; MOST_KEY];
            for ((byte, wheel), values) in bytes[..K::BYTES].iter_mut().zip(wheels).zip(&values) {
                *byte = values[wheel];
            }
            let key = K::from_bytes(&bytes[..K::BYTES]);
            let hash = key.hash(&self.sketch.config.seed);
            if self.sketch.rows.places(hash).eq(self.chosen.iter().copied()) {
                self.found.push((key, self.sketch.estimate(&key)));
            }
            let turned = wheels.iter_mut().zip(lens).find_map(|(wheel, len)| {
                *wheel = if *wheel + 1 < len { *wheel + 1 } else { 0 };
                (*wheel > 0).then_some(())
            });
            if turned.is_none() {
                return;
            }
        }
    }
}

impl<K: ByteKey> Summary for ReversibleSets<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        const { assert!(K::BYTES <= MOST_KEY) };
        config.check()?;
        Ok(Self {
            config: config.clone(),
            rows: GridRows::new(config, PURPOSE),
            words: filled(config.cells() * stride(K::BYTES), 0)?,
            total: 0,
            saturated: 0,
            key: PhantomData,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.words.fill(0);
        (self.total, self.saturated) = (0, 0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: ByteKey> UpdateBurst<K> for ReversibleSets<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let stride = stride(K::BYTES);
        let mut places = [[0; MAX_ROWS]; super::summary::BURST];
        for burst in burst.chunks(BURST) {
            self.rows.locate(burst, &mut places, |place| {
                // A line at a time, and the last word, which may be in one more.
                (0..stride).step_by(8).for_each(|word| prefetch(&self.words, place * stride + word));
                prefetch(&self.words, place * stride + stride - 1);
            });
            for (places, update) in places.iter().zip(burst) {
                let mut bytes = [0; MOST_KEY];
                update.key.to_bytes(&mut bytes);
                self.total = self.total.saturating_add(update.weight);
                for &place in &places[..self.rows.len()] {
                    let cell = &mut self.words[place as usize * stride..][..stride];
                    let (sum, over) = add(cell[0] as u32, update.weight);
                    cell[0] = sum.into();
                    self.saturated += over;
                    for (set, byte) in cell[1..].chunks_exact_mut(SET).zip(bytes) {
                        set[usize::from(byte / 64)] |= 1 << (byte % 64);
                    }
                }
            }
        }
    }
}

/// Merging gives the sets of one pass over both streams.
impl<K: ByteKey> Merge for ReversibleSets<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.total = self.total.saturating_add(other.total);
        self.saturated += other.saturated;
        let stride = stride(K::BYTES);
        for (ours, theirs) in self.words.chunks_exact_mut(stride).zip(other.words.chunks_exact(stride)) {
            let (sum, over) = add(ours[0] as u32, theirs[0]);
            self.saturated += over;
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours |= theirs);
            ours[0] = sum.into();
        }
        Ok(())
    }
}

impl<K: ByteKey> Frequency<K> for ReversibleSets<K> {
    fn estimate(&self, key: &K) -> Estimate {
        let counters = self.rows.places(key.hash(&self.config.seed)).map(|place| self.count(place));
        count_min(counters, self.total, self.config.width, self.rows.len())
    }
}

impl<K: ByteKey> HeavyHitters<K> for ReversibleSets<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let search = self.search(threshold);
        let found = search.found.into_iter().map(|(key, estimate)| (key, read_off(estimate.value)));
        HeavyKeys::new(found.collect(), search.is_cut_short)
    }
}

impl<K: ByteKey> ReversibleSets<K> {
    fn search(&self, threshold: u64) -> CombinationSearch<'_, K> {
        // A counter of 0 indicates no flow.
        let is_heavy = |cell: &usize| u64::from(self.count(*cell)) >= threshold.max(1);
        let width = self.config.width;
        let row = |row| (row * width..(row + 1) * width).filter(is_heavy).collect();
        let heavy = (0..self.rows.len()).map(row).collect();
        let mut search = CombinationSearch {
            sketch: self,
            heavy,
            chosen: Vec::new(),
            steps: 0,
            is_cut_short: false,
            found: Vec::new(),
        };
        search.go_on(&[u64::MAX; MOST_KEY * SET]);
        search
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, BoundTally, OracleStream};
    use super::*;
    use packet::{KeyV4, KeyV6, Seed};
    use std::collections::HashMap;

    type Sketch = ReversibleSets<KeyV4>;

    fn config(rows: usize, width: usize, number: u64) -> GridConfig<Sketch> {
        GridConfig::new(rows, width, Seed::new(number))
    }

    #[test]
    fn every_heavy_flow_is_found_and_bounded() {
        let (mut close, mut of_lists) = (BoundTally::default(), BoundTally::default());
        for number in 0..20 {
            let stream = OracleStream::bytes(10_000, 3_000, number);
            let sketch: Sketch = oracle::summary_of(&config(4, 1_024, number), &stream.updates);
            let threshold = stream.total / 200;
            let found = sketch.heavy_hitters(threshold);
            assert!(!found.is_cut_short);
            let listed: HashMap<_, _> = found.keys.into_iter().collect();
            for (key, count) in &stream.counts {
                let estimate = sketch.estimate(key);
                assert!(estimate.value >= *count as f64);
                let value = listed.get(key).map(|listed| listed.value);
                assert_eq!(value, (estimate.value >= threshold as f64).then_some(estimate.value));
                if let Some(estimate) = listed.get(key) {
                    of_lists.count(*estimate, *count as f64);
                }
            }
            let key = stream.updates[0].key;
            close.count(sketch.estimate(&key), stream.counts[&key] as f64);
            assert!(listed.keys().all(|key| stream.counts.contains_key(key)), "a flow that is none");
        }
        close.must_hold();
        of_lists.must_hold();
    }

    #[test]
    fn keys_of_ipv6_are_put_together_too() {
        let seed = Seed::new(4);
        let key = |i: u8| KeyV6::new(&[i; 16], &[i ^ 0x55; 16], [i, 1, 2, i], 6);
        let updates: Vec<_> = (0..200).map(|i| Update::new(key(i % 20), 1, &seed)).collect();
        let sketch: ReversibleSets<KeyV6> = oracle::summary_of(&GridConfig::with_width(500, seed), &updates);
        let found = sketch.heavy_hitters(10);
        assert!(!found.is_cut_short && found.keys.len() == 20);
        assert!(found.keys.iter().all(|(found, e)| e.value == 10.0 && (0..20).any(|i| key(i) == *found)));
    }

    #[test]
    fn sets_are_listed_in_order() {
        for numbers in [vec![], (0..=255).collect(), vec![0, 63, 64, 127, 128, 191, 192, 255_u8], vec![77]] {
            let mut set = [0; SET];
            numbers.iter().for_each(|value| set[usize::from(value / 64)] |= 1 << (value % 64));
            let mut values = [0; 256];
            let len = list(&set, &mut values);
            assert_eq!(values[..len], numbers);
        }
    }

    /// One flow: one intersection per row, and its key listed and combined.
    #[test]
    fn a_search_accounts_for_each_byte_that_it_looks_at() {
        let config = config(3, 8, 1);
        let update = Update::new(KeyV4::default(), 1, &config.seed);
        let sketch: Sketch = oracle::summary_of(&config, &[update]);
        let search = sketch.search(1);
        assert_eq!((search.found.len(), search.steps), (1, (KeyV4::BYTES * (3 + SET + 1 + 1)) as u64));
    }

    #[test]
    fn a_search_that_would_take_too_long_says_so() {
        let stream = OracleStream::zipf(20_000, 15_000, 1);
        let sketch: Sketch = oracle::summary_of(&config(2, 16, 1), &stream.updates);
        assert!(sketch.heavy_hitters(1).is_cut_short);
    }

    #[test]
    fn a_full_counter_leaves_no_upper_bound() {
        let config = config(3, 8, 1);
        let update = |weight| Update::new(KeyV4::default(), weight, &config.seed);
        let mut sketch: Sketch = oracle::summary_of(&config, &[update(u64::from(u32::MAX))]);
        assert_eq!(sketch.saturated(), 0);
        let other = sketch.clone();
        sketch.update_burst(&[update(1)]);
        assert_eq!(sketch.saturated(), 3);
        let bounds = sketch.estimate(&KeyV4::default()).bounds.expect("bounds");
        assert_eq!(bounds.upper, f64::INFINITY);
        sketch.merge(&other).expect("equal configurations");
        // Every counter was at its end on one side at least.
        assert_eq!(sketch.saturated(), 6);
        sketch.reset();
        assert_eq!((sketch.saturated(), sketch.estimate(&KeyV4::default()).value), (0, 0.0));
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (stream, second) = (OracleStream::zipf(3_000, 600, 1), OracleStream::bytes(2_000, 300, 2));
        let answers = |sketch: &Sketch| {
            let mut keys: Vec<_> = stream.counts.keys().collect();
            keys.sort();
            let estimates: Vec<_> = keys.into_iter().map(|key| sketch.estimate(key)).collect();
            (sketch.heavy_hitters(40), estimates)
        };
        oracle::merge_equals_one_pass(&config(3, 512, 1), &stream.updates, answers);
        oracle::reset_equals_new(&config(3, 512, 1), &stream.updates, &second.updates, answers);
        oracle::do_not_merge::<Sketch>(&config(3, 512, 1), &config(3, 513, 1));
        oracle::check_sizes::<Sketch>();
        assert!(Sketch::new(&config(3, 0, 1)).is_err());
    }
}
