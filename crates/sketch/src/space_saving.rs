//! SpaceSaving (Metwally, Agrawal, El Abbadi, ICDT 2005): the heavy flows in a fixed number of counters.

mod heap;
mod stream_summary;
#[cfg(test)]
mod tests;

pub use heap::Heap;
pub use stream_summary::StreamSummary;

use super::grid::{Grid, GridConfig};
use super::key_index::KeyIndex;
use super::memory::{filled, prefetch};
use super::row_hash::RowHash;
use super::summary::BURST;
use super::{Configuration, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary};
use super::{Unmergeable, Update, UpdateBurst};
use packet::Key;

/// Finds the least of the counters. All numbers exist from the beginning, with a count of 0.
pub trait PriorityQueue: Clone {
    /// The order's usual name.
    const KIND: &'static str;
    /// Memory for one counter.
    const BYTES: usize;

    /// `capacity` counters.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    fn new(capacity: usize) -> Result<Self, SketchError>;

    /// Prefetches what [`PriorityQueue::increase`] reads first.
    fn prefetch(&self, number: u32);

    /// A counter.
    fn count(&self, number: u32) -> u64;

    /// Returns a counter with the least count, and that count.
    fn least(&self) -> (u32, u64);

    /// Adds `weight`, not 0, to a counter.
    fn increase(&mut self, number: u32, weight: u64);

    /// Sets all counters, number by number, in ascending order.
    fn set_all(&mut self, counts: impl Iterator<Item = u64>);
}

/// SpaceSaving with its counters in a heap, as Alipourfard et al. measured it (HotNets 2015, section 2). A packet costs up to
/// the logarithm of the capacity, whatever its weight.
pub type SpaceSavingHeap<K> = SpaceSaving<K, Heap>;

/// SpaceSaving with its counters sorted, in groups of equal count (Metwally's stream-summary). A packet costs
/// the same whatever the capacity; a weight costs a step for each count that it passes, so the heap is better
/// for bytes.
pub type SpaceSavingSummary<K> = SpaceSaving<K, StreamSummary>;

/// A counter for each of the flows seen last or most: a flow without one takes over the least, whose count
/// becomes its maximum error.
///
/// Bounds are certain (Metwally et al., lemmas 3.3 to 3.5): a flow with a counter had at most the count and
/// at least count − error, one without had at most the least counter, and neither the error nor the least
/// counter is more than N / capacity. So each flow above N / capacity has a counter. Merging keeps all of
/// that, N being the total of both (Agarwal et al., Mergeable Summaries, PODS 2012, section 3).
#[derive(Clone, Debug)]
pub struct SpaceSaving<K, O: PriorityQueue> {
    config: GridConfig<Self>,
    hash: RowHash,
    index: KeyIndex,
    counters: Box<[SpaceSavingCounter<K>]>,
    order: O,
}

#[derive(Clone, Copy, Debug, Default)]
struct SpaceSavingCounter<K> {
    key: K,
    /// The count when the key took the counter over.
    error: u64,
    tag: u32,
}

impl<K, O: PriorityQueue> Grid for SpaceSaving<K, O> {
    const KIND: &'static str = O::KIND;
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "capacity";
    const WIDTH: std::ops::RangeInclusive<usize> = 1..=KeyIndex::MOST;

    fn bytes(_: usize, capacity: usize) -> usize {
        KeyIndex::bytes(capacity) + capacity * (size_of::<SpaceSavingCounter<K>>() + O::BYTES)
    }
}

impl<K: Key, O: PriorityQueue> SpaceSaving<K, O> {
    /// The least counter: no flow without a counter had more.
    pub fn least(&self) -> u64 {
        self.order.least().1
    }

    fn find(&self, tag: u32, key: &K) -> Option<u32> {
        self.index.find(tag, |number| self.counters[number as usize].key == *key)
    }

    #[inline(always)]
    fn update(&mut self, tag: u32, key: K, weight: u64) {
        if let Some(number) = self.find(tag, &key) {
            return self.order.increase(number, weight);
        }
        let (number, error) = self.order.least();
        let counter = &mut self.counters[number as usize];
        if error > 0 {
            self.index.remove(counter.tag, number);
        }
        *counter = SpaceSavingCounter { key, error, tag };
        self.index.insert(tag, number);
        self.order.increase(number, weight);
    }

    /// Every flow that has a counter, with its count.
    fn counted(&self) -> impl Iterator<Item = (&SpaceSavingCounter<K>, u64)> {
        let counts = (0..).zip(&self.counters).map(|(number, counter)| (counter, self.order.count(number)));
        counts.filter(|(_, count)| *count > 0)
    }

    fn estimate_of(counter: &SpaceSavingCounter<K>, count: u64) -> Estimate {
        let lower = count - counter.error;
        Estimate::bounded(count as f64, lower as f64, Self::upper(count), 1.0)
    }

    /// A saturated count gives no bound.
    fn upper(count: u64) -> f64 {
        if count == u64::MAX { f64::INFINITY } else { count as f64 }
    }

    /// Saturated counters, without an upper bound.
    pub fn saturated(&self) -> usize {
        self.counted().filter(|(_, count)| *count == u64::MAX).count()
    }
}

impl<K: Key, O: PriorityQueue> Summary for SpaceSaving<K, O> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, 0x55)[0],
            index: KeyIndex::new(config.width)?,
            counters: filled(config.width, SpaceSavingCounter::default())?,
            order: O::new(config.width)?,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.index.clear();
        self.order.set_all(std::iter::repeat_n(0, self.config.width));
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: Key, O: PriorityQueue> UpdateBurst<K> for SpaceSaving<K, O> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let mut tags = [0_u32; BURST];
        for burst in burst.chunks(BURST) {
            for (tag, update) in tags.iter_mut().zip(burst) {
                *tag = self.hash.word(update.hash);
                self.index.prefetch(*tag);
            }
            // Three lines wait for one another otherwise: the slot, the counter, its place.
            for number in tags[..burst.len()].iter().filter_map(|tag| self.index.guess(*tag)) {
                prefetch(&self.counters, number as usize);
                self.order.prefetch(number);
            }
            for (&tag, update) in tags.iter().zip(burst) {
                if update.weight > 0 {
                    self.update(tag, update.key, update.weight);
                }
            }
        }
    }
}

impl<K: Key, O: PriorityQueue> Merge for SpaceSaving<K, O> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        // A flow that one of them has no counter for may have had as much there as its least.
        let with = |counter: &SpaceSavingCounter<K>, count: u64, one: &Self| match one
            .find(counter.tag, &counter.key)
        {
            Some(number) => {
                let error = counter.error.saturating_add(one.counters[number as usize].error);
                (count.saturating_add(one.order.count(number)), SpaceSavingCounter { error, ..*counter })
            }
            None => {
                let least = one.least();
                let error = counter.error.saturating_add(least);
                (count.saturating_add(least), SpaceSavingCounter { error, ..*counter })
            }
        };
        let ours = self.counted().map(|(counter, count)| with(counter, count, other));
        let theirs = other.counted().filter(|(counter, _)| self.find(counter.tag, &counter.key).is_none());
        let mut all: Vec<_> = ours.chain(theirs.map(|(counter, count)| with(counter, count, self))).collect();
        // Equal counts by key, so that the order of merging has no influence.
        all.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.key.cmp(&y.key)));
        all.truncate(self.config.width);
        all.reverse();

        let free = self.config.width - all.len();
        self.index.clear();
        for (number, (_, counter)) in (free..).zip(&all) {
            self.counters[number] = *counter;
            self.index.insert(counter.tag, number as u32);
        }
        self.order.set_all(std::iter::repeat_n(0, free).chain(all.iter().map(|(count, _)| *count)));
        Ok(())
    }
}

impl<K: Key, O: PriorityQueue> Frequency<K> for SpaceSaving<K, O> {
    fn estimate(&self, key: &K) -> Estimate {
        let tag = self.hash.word(key.hash(&self.config.seed));
        match self.find(tag, key) {
            Some(number) => Self::estimate_of(&self.counters[number as usize], self.order.count(number)),
            None => {
                let least = self.least();
                Estimate::bounded(least as f64, 0.0, Self::upper(least), 1.0)
            }
        }
    }
}

impl<K: Key, O: PriorityQueue> HeavyHitters<K> for SpaceSaving<K, O> {
    /// Returns the heavy flows, cut short if the least of all counters, each with a flow, reaches the threshold, because flows without
    /// a counter may reach it too.
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let heavy = self.counted().filter(|(_, count)| *count >= threshold);
        let keys = heavy.map(|(counter, count)| (counter.key, Self::estimate_of(counter, count)));
        let least = self.least();
        HeavyKeys::new(keys.collect(), least > 0 && threshold <= least)
    }
}
