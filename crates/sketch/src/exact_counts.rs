//! Exact weights of all flows of a window, in memory of a fixed size: the planner's choice if it fits.

use super::{
    Cardinality, Configuration, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary,
    Unmergeable, Update, UpdateBurst,
};
use arena::Lease;
use arena::ask_for_large_pages;
use hashbrown::HashTable;
use packet::{Key, Seed};
use std::fmt;
use std::marker::PhantomData;

/// Every flow with its sum. As long as there is room, all answers are exact.
///
/// The table is hashbrown's, for whose groups seven eighths of the places suffice: 28.6 bytes for a flow of IPv4, 56 for one of IPv6. It
/// takes its memory when it is made and does not grow by itself: a flow that finds no room is refused, and its weight counted
/// ([`not_kept`](Self::not_kept)). Outside of measuring, [`make_room`](Self::make_room) grows it. A flow that is kept is so from its first packet on and stays exact; only where tables were
/// merged may the other one have refused it. Bounds are certain.
#[derive(Clone, Debug)]
pub struct ExactCounts<K: Key> {
    config: ExactConfig<K>,
    table: HashTable<(K, u64)>,
    total: u64,
    not_kept: u64,
    /// True once a flow found no room, even one without weight.
    is_short: bool,
    /// The most that a kept flow may lack: the weight refused by merged tables before the merge.
    missed: u64,
}

/// The size of [`ExactCounts`].
pub struct ExactConfig<K> {
    /// Flows that can be kept. The memory is a power of two of places, so that 7 · 2ⁿ flows use all of it.
    pub capacity: usize,
    /// The seed of the keys' hash.
    pub seed: Seed,
    of: PhantomData<fn() -> K>,
}

const KIND: &str = "exact counts";

/// The largest capacity.
const MOST: usize = 1 << 40;

/// Control bytes that hashbrown reads at a time, and repeats after the last: the vector width on processors
/// that it supports.
const GROUP: usize = if cfg!(all(target_arch = "x86_64", target_feature = "sse2")) { 16 } else { 8 };

/// Places that hashbrown takes for this many flows.
fn places(capacity: usize) -> usize {
    match capacity {
        ..4 => 4,
        4..8 => 8,
        8..15 => 16,
        _ => (capacity * 8 / 7).next_power_of_two(),
    }
}

/// Flows that hashbrown has room for.
fn room(places: usize) -> usize {
    if places <= 8 { places - 1 } else { places / 8 * 7 }
}

impl<K: Key> ExactConfig<K> {
    /// Creates a configuration, which is checked when the table is made.
    pub fn new(capacity: usize, seed: Seed) -> Self {
        Self { capacity, seed, of: PhantomData }
    }

    /// Memory of a table of this many places: flows, aligned to a group, and a control byte for each.
    fn bytes_of(places: usize) -> usize {
        let group = GROUP.max(align_of::<(K, u64)>());
        (places * size_of::<(K, u64)>()).next_multiple_of(group) + places + GROUP
    }
}

impl<K: Key> Configuration for ExactConfig<K> {
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        let fits = |places: &usize| Self::bytes_of(*places) <= bytes;
        // Beyond the largest that can be, a size is no longer one of memory.
        let sizes =
            std::iter::successors(Some(4), |places| Some(places * 2)).take_while(|p| room(*p) <= MOST);
        let Some(places) = sizes.take_while(fits).last() else {
            return Err(SketchError::TooLittleMemory { kind: KIND, bytes, least: Self::bytes_of(4) });
        };
        Ok(Self::new(room(places), seed))
    }

    fn bytes(&self) -> usize {
        Self::bytes_of(places(self.capacity))
    }

    fn seed(&self) -> &Seed {
        &self.seed
    }
}

impl<K> fmt::Display for ExactConfig<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND} (capacity {})", self.capacity)
    }
}

impl<K> fmt::Debug for ExactConfig<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Derived, they would require the same of `K`.
impl<K> Clone for ExactConfig<K> {
    fn clone(&self) -> Self {
        Self { capacity: self.capacity, seed: self.seed, of: PhantomData }
    }
}

impl<K> PartialEq for ExactConfig<K> {
    fn eq(&self, other: &Self) -> bool {
        self.capacity == other.capacity && self.seed == other.seed
    }
}

impl<K: Key> ExactCounts<K> {
    /// Weight of the flows that found no room.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }

    /// True once a flow found no room, even one without weight.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// Flows that are kept.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// All that are kept, with their sums, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u64)> {
        self.table.iter().map(|(key, sum)| (key, *sum))
    }

    /// Returns the sum of a flow that is kept; 0 of any other.
    pub fn weight(&self, key: &K) -> u64 {
        self.table.find(key.hash(&self.config.seed), |(kept, _)| kept == key).map_or(0, |(_, sum)| *sum)
    }

    /// The weight of all flows that are kept.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Flows with a saturated sum, without an upper bound.
    pub fn saturated(&self) -> usize {
        self.iter().filter(|(_, sum)| *sum == u64::MAX).count()
    }

    #[inline(always)]
    fn add(&mut self, hash: u64, key: &K, weight: u64) {
        if let Some((_, sum)) = self.table.find_mut(hash, |(kept, _)| kept == key) {
            *sum = sum.saturating_add(weight);
        } else if self.table.len() < self.config.capacity {
            self.table.insert_unique(hash, (*key, weight), never_moved);
        } else {
            self.not_kept = self.not_kept.saturating_add(weight);
            self.is_short = true;
            return;
        }
        self.total = self.total.saturating_add(weight);
    }

    /// Grows the table, where that is necessary, so that it has room for `more` flows in addition to those that it keeps. `memory`
    /// holds what it takes then. False where there is no memory, or where flows were refused before: their weight is lost, and
    /// a flow that came in now would lack some.
    pub fn make_room(&mut self, more: usize, memory: &mut Lease) -> bool {
        let needed = self.table.len().saturating_add(more);
        if needed <= self.config.capacity {
            return true;
        }
        if self.is_short || needed > MOST {
            return false;
        }
        let places = places(needed);
        if !memory.grow(ExactConfig::<K>::bytes_of(places).saturating_sub(memory.bytes())) {
            return false;
        }
        let seed = self.config.seed;
        let hash = |(key, _): &(K, u64)| key.hash(&seed);
        if self.table.try_reserve(room(places) - self.table.len(), hash).is_err() {
            return false;
        }
        self.config.capacity = room(places);
        true
    }

    /// Becomes the heaviest flows of both, whose number is beyond the capacity.
    fn keep_heaviest(&mut self, other: &Self, new: &[(K, u64)]) {
        let seed = self.config.seed;
        let theirs =
            |key: &K| other.table.find(key.hash(&seed), |(kept, _)| kept == key).map_or(0, |(_, sum)| *sum);
        let ours = self.iter().map(|(key, sum)| (sum.saturating_add(theirs(key)), *key));
        let mut all: Vec<(u64, K)> = ours.chain(new.iter().map(|(key, sum)| (*sum, *key))).collect();
        // Equal ones by key, so that it does not matter who is merged into whom.
        all.select_nth_unstable_by(self.config.capacity - 1, |a, b| b.cmp(a));
        let (kept, gone) = all.split_at(self.config.capacity);
        self.table.clear();
        self.total = 0;
        kept.iter().for_each(|(sum, key)| self.add(key.hash(&seed), key, *sum));
        self.not_kept = gone.iter().fold(self.not_kept, |not_kept, (sum, _)| not_kept.saturating_add(*sum));
        self.is_short = true;
    }

    fn estimate_sum(sum: u64, missed: u64) -> Estimate {
        let upper = match sum.saturating_add(missed) {
            u64::MAX => f64::INFINITY,
            upper => upper as f64,
        };
        Estimate::bounded(sum as f64, sum as f64, upper, 1.0)
    }
}

/// The function that hashbrown calls for a flow's hash when it grows, which a table within its capacity never does.
fn never_moved<T>(_: &T) -> u64 {
    unreachable!("the table was made as large as it may become")
}

/// A table with its memory in place.
fn taken<K: Key>(capacity: usize) -> Result<HashTable<(K, u64)>, SketchError> {
    let mut table = HashTable::<(K, u64)>::new();
    let bytes = ExactConfig::<K>::bytes_of(places(capacity));
    table.try_reserve(capacity, never_moved).map_err(|_| SketchError::OutOfMemory { bytes })?;
    let places = places(capacity) as u64;
    // A flow is put at the place given by the end of its hash, if that is free: at both ends first, which
    // shows where the memory is.
    let mut put =
        |place| std::ptr::from_ref(table.insert_unique(place, Default::default(), never_moved).get());
    let (one, other) = (put(0), put(places - 1));
    let (start, end) = (one.min(other), one.max(other));
    ask_for_large_pages(start.cast_mut().cast(), end.addr() - start.addr());
    // Then every other place, so that every page was touched and no update meets a page fault.
    (2..places - 1).step_by(2).for_each(|place| _ = put(place));
    table.clear();
    Ok(table)
}

impl<K: Key> Summary for ExactCounts<K> {
    type Configuration = ExactConfig<K>;

    fn new(config: &ExactConfig<K>) -> Result<Self, SketchError> {
        SketchError::check_size(KIND, "capacity", config.capacity, 1, MOST)?;
        let table = taken(config.capacity)?;
        Ok(Self { config: config.clone(), table, total: 0, not_kept: 0, is_short: false, missed: 0 })
    }

    fn configuration(&self) -> &ExactConfig<K> {
        &self.config
    }

    fn reset(&mut self) {
        self.table.clear();
        (self.total, self.not_kept, self.is_short, self.missed) = (0, 0, false, 0);
    }

    fn bytes(&self) -> usize {
        self.table.allocation_size()
    }
}

impl<K: Key> UpdateBurst<K> for ExactCounts<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        // Searches do not wait for each other: the processor overlaps several by itself.
        for Update { key, hash, weight } in burst {
            self.add(*hash, key, *weight);
        }
    }
}

/// Merging gives the table of one pass over both streams, where there is room for all flows of both; else the heaviest of them are kept.
impl<K: Key> Merge for ExactCounts<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.not_kept = self.not_kept.saturating_add(other.not_kept);
        self.is_short |= other.is_short;
        // A flow that one of them refused may be kept by the other. Flows dropped now cannot return: the
        // table is full then.
        self.missed = self.not_kept;
        let seed = self.config.seed;
        let is_new =
            |(key, _): &(&K, u64)| self.table.find(key.hash(&seed), |(kept, _)| kept == *key).is_none();
        let new: Vec<(K, u64)> = other.iter().filter(is_new).map(|(key, sum)| (*key, sum)).collect();
        if self.len() + new.len() > self.config.capacity {
            self.keep_heaviest(other, &new);
        } else {
            other.iter().for_each(|(key, sum)| self.add(key.hash(&seed), key, sum));
        }
        Ok(())
    }
}

impl<K: Key> Frequency<K> for ExactCounts<K> {
    fn estimate(&self, key: &K) -> Estimate {
        match self.table.find(key.hash(&self.config.seed), |(kept, _)| kept == key) {
            Some((_, sum)) => Self::estimate_sum(*sum, self.missed),
            None => Self::estimate_sum(0, self.not_kept),
        }
    }
}

impl<K: Key> HeavyHitters<K> for ExactCounts<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let heavy = self.iter().filter(|(_, sum)| *sum >= threshold);
        HeavyKeys::new(
            heavy.map(|(key, sum)| (*key, Self::estimate_sum(sum, self.missed))).collect(),
            self.is_short,
        )
    }
}

impl<K: Key> Cardinality for ExactCounts<K> {
    fn distinct(&self) -> Estimate {
        let flows = self.len() as f64;
        if self.is_short {
            Estimate::bounded(flows, flows, f64::INFINITY, 1.0)
        } else {
            Estimate::exact(flows)
        }
    }
}

#[cfg(test)]
mod tests;
