//! All flows of a window with their exact weights, in memory of a fixed size: the planner's choice if it
//! fits.

use super::{
    Cardinality, Configuration, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary,
    Unmergeable, Update, UpdateBurst,
};
use crate::Lease;
use crate::large_pages::ask_for_large_pages;
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
    /// What a kept flow may lack: the weight refused by merged tables before the merge.
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
    /// Checked when the table is made.
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

    fn of_sum(sum: u64, missed: u64) -> Estimate {
        let upper = match sum.saturating_add(missed) {
            u64::MAX => f64::INFINITY,
            upper => upper as f64,
        };
        Estimate::bounded(sum as f64, sum as f64, upper, 1.0)
    }
}

/// Called by hashbrown for a flow's hash when it grows, which a table within its capacity never does.
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

/// As one pass over both streams, where there is room for all flows of both; else the heaviest of them are kept.
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
            Some((_, sum)) => Self::of_sum(*sum, self.missed),
            None => Self::of_sum(0, self.not_kept),
        }
    }
}

impl<K: Key> HeavyHitters<K> for ExactCounts<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let heavy = self.iter().filter(|(_, sum)| *sum >= threshold);
        HeavyKeys::new(
            heavy.map(|(key, sum)| (*key, Self::of_sum(sum, self.missed))).collect(),
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
mod tests {
    use super::super::oracle::{self, Promise, Stream};
    use super::*;
    use packet::{KeyV4, KeyV6};
    use std::collections::BTreeMap;

    type Counts = ExactCounts<KeyV4>;

    fn config(capacity: usize, number: u64) -> ExactConfig<KeyV4> {
        ExactConfig::new(capacity, Seed::new(number))
    }

    #[test]
    fn room_is_made_as_flows_come_and_within_the_memory_of_the_run() {
        let stream = Stream::bytes(30_000, 5_000, 3);
        let limits = crate::Limits::new(1 << 20, usize::MAX);
        let mut memory = limits.empty_lease();
        let mut counts = Counts::new(&config(3, 3)).expect("memory");
        for burst in stream.updates.chunks(100) {
            assert!(counts.make_room(burst.len(), &mut memory));
            counts.update_burst(burst);
        }
        let kept: BTreeMap<_, _> = counts.iter().map(|(key, sum)| (*key, sum)).collect();
        assert_eq!(kept, stream.counts.iter().map(|(key, sum)| (*key, *sum)).collect());
        assert_eq!((counts.not_kept(), counts.total()), (0, stream.total));
        assert!(counts.bytes() <= memory.bytes(), "{} {}", counts.bytes(), memory.bytes());
        // Without memory what is kept stays exact, and the rest is refused.
        let limits = crate::Limits::new(40_000, usize::MAX);
        let mut memory = limits.empty_lease();
        let mut counts = Counts::new(&config(3, 3)).expect("memory");
        let all_had_room = stream.updates.chunks(100).fold(true, |had, burst| {
            let has = counts.make_room(burst.len(), &mut memory);
            counts.update_burst(burst);
            had && has
        });
        assert!(!all_had_room && counts.not_kept() > 0 && limits.bytes_used() <= 40_000);
        assert_eq!(counts.total() + counts.not_kept(), stream.total);
        assert!(counts.iter().all(|(key, sum)| stream.counts[key] == sum));
    }

    #[test]
    fn with_room_all_answers_are_exact() {
        for number in 0..5 {
            let stream = Stream::bytes(30_000, 5_000, number);
            let counts: Counts = oracle::summary_of(&config(stream.counts.len(), number), &stream.updates);
            assert_eq!((counts.not_kept(), counts.total()), (0, stream.total));
            assert_eq!(counts.distinct(), Estimate::exact(stream.counts.len() as f64));
            let kept: BTreeMap<_, _> = counts.iter().map(|(key, sum)| (*key, sum)).collect();
            assert_eq!(kept, stream.counts.iter().map(|(key, sum)| (*key, *sum)).collect());
            for (key, count) in &stream.counts {
                assert_eq!(counts.estimate(key), Estimate::exact(*count as f64));
            }
            assert!(stream.strangers().all(|key| counts.estimate(&key) == Estimate::exact(0.0)));
            let heavy = counts.heavy_hitters(10_000);
            assert!(!heavy.is_cut_short);
            let mut keys: Vec<_> = heavy.keys.iter().map(|(key, _)| *key).collect();
            keys.sort();
            assert_eq!(keys, stream.heavy(10_000));
        }
    }

    #[test]
    fn what_finds_no_room_is_counted_and_bounds_stay_certain() {
        for number in 0..20 {
            let stream = Stream::bytes(9_000, 3_000, number);
            let config = config(300, number);
            let counts: Counts = oracle::summary_of(&config, &stream.updates);
            assert_eq!(counts.len(), 300);
            assert_eq!(counts.total() + counts.not_kept(), stream.total);
            assert!(counts.iter().all(|(key, sum)| counts.estimate(key) == Estimate::exact(sum as f64)));
            let (first, second) = stream.updates.split_at(3_000);
            let mut merged: Counts = oracle::summary_of(&config, first);
            merged.merge(&oracle::summary_of(&config, second)).expect("equal configurations");
            assert_eq!(merged.total() + merged.not_kept(), stream.total);
            for counts in [counts, merged] {
                let mut promise = Promise::default();
                stream
                    .counts
                    .iter()
                    .for_each(|(key, count)| promise.count(counts.estimate(key), *count as f64));
                stream.strangers().for_each(|key| promise.count(counts.estimate(&key), 0.0));
                promise.count(counts.distinct(), stream.counts.len() as f64);
                promise.must_hold();
                assert!(counts.heavy_hitters(1).is_cut_short);
            }
        }
    }

    /// The flow that one table refused and the other one kept, in either direction of merging.
    #[test]
    fn a_kept_flow_may_lack_what_the_other_table_refused() {
        let config = config(1, 1);
        let [a, b] = [6, 17].map(|protocol| KeyV4::new([1; 8], [2; 4], protocol));
        let of = |keys: &[(KeyV4, u64)]| {
            let updates: Vec<_> =
                keys.iter().map(|(key, weight)| Update::new(*key, *weight, &config.seed)).collect();
            oracle::summary_of::<Counts, _>(&config, &updates)
        };
        let (full, other) = (of(&[(a, 5), (b, 7)]), of(&[(b, 2)]));
        let (mut one, mut two) = (full.clone(), other.clone());
        one.merge(&other).expect("equal configurations");
        two.merge(&full).expect("equal configurations");
        for merged in [one, two] {
            assert_eq!(merged.estimate(&a), Estimate::bounded(5.0, 5.0, 12.0, 1.0));
            assert_eq!(merged.estimate(&b), Estimate::bounded(0.0, 0.0, 9.0, 1.0));
        }
    }

    #[test]
    fn merged_beyond_the_capacity_the_heaviest_stay() {
        let stream = Stream::zipf(20_000, 3_000, 3);
        // Each half has its own flows, as where flows are split by hash.
        let halves: [Vec<_>; 2] =
            [0, 1].map(|half| stream.updates.iter().filter(|u| u.hash & 1 == half).copied().collect());
        let config = config(1_792, 3);
        let mut merged: Counts = oracle::summary_of(&config, &halves[0]);
        let theirs: Counts = oracle::summary_of(&config, &halves[1]);
        let counted = merged.total() + theirs.total();
        assert!(merged.len() + theirs.len() > config.capacity && merged.not_kept() + theirs.not_kept() == 0);
        let mut otherwise = theirs.clone();
        otherwise.merge(&merged).expect("equal configurations");
        merged.merge(&theirs).expect("equal configurations");
        assert_eq!((merged.len(), merged.total() + merged.not_kept()), (config.capacity, counted));
        let mut counts: Vec<u64> = stream.counts.values().copied().collect();
        counts.sort_by(|a, b| b.cmp(a));
        let mut kept: Vec<u64> = merged.iter().map(|(_, sum)| sum).collect();
        kept.sort_by(|a, b| b.cmp(a));
        assert_eq!(kept, counts[..config.capacity]);
        let heavy = |counts: &Counts| counts.heavy_hitters(1).keys;
        assert_eq!(heavy(&merged), heavy(&otherwise), "whoever is merged into whom");
        // Flows that were dropped find no room when they occur again.
        merged.update_burst(&stream.updates[..5_000]);
        for (key, estimate) in heavy(&merged) {
            let again = stream.updates[..5_000].iter().filter(|update| update.key == key).count() as f64;
            assert!(estimate.bounds.expect("bounds").contain(stream.counts[&key] as f64 + again));
        }
    }

    #[test]
    fn merges_resets_and_refusals() {
        let (stream, second) = (Stream::zipf(9_000, 3_000, 1), Stream::bytes(5_000, 900, 2));
        let answers = |counts: &Counts| {
            (oracle::all_answers(counts, &stream), counts.total(), counts.not_kept(), counts.distinct())
        };
        oracle::merge_equals_one_pass(&config(3_000, 1), &stream.updates, answers);
        for capacity in [3_000, 500] {
            oracle::reset_equals_new(&config(capacity, 1), &stream.updates, &second.updates, answers);
        }
        oracle::do_not_merge::<Counts>(&config(500, 1), &config(501, 1));
        oracle::do_not_merge::<Counts>(&config(500, 1), &config(500, 2));
        for capacity in [0, usize::MAX] {
            assert!(Counts::new(&config(capacity, 1)).is_err());
        }
    }

    #[test]
    fn memory_is_what_the_configuration_says_and_never_grows() {
        oracle::sizes_are_kept::<Counts>();
        oracle::sizes_are_kept::<ExactCounts<KeyV6>>();
        fn of<K: Key>(capacity: usize) {
            let config = ExactConfig::<K>::new(capacity, Seed::new(1));
            assert_eq!(ExactCounts::new(&config).expect("memory").bytes(), config.bytes(), "{config}");
        }
        (1..300).chain([447, 448, 449, 896, 897, 7_168, 7_169]).for_each(|capacity| {
            of::<KeyV4>(capacity);
            of::<KeyV6>(capacity);
        });
        // All of the memory is of use.
        let stream = Stream::zipf(9_000, 3_000, 1);
        for bytes in [200, 1_000, 10_000, 30_000] {
            let config = ExactConfig::with_bytes(bytes, Seed::new(1)).expect("enough memory");
            assert_eq!(room(places(config.capacity)), config.capacity);
            let counts: Counts = oracle::summary_of(&config, &stream.updates);
            assert_eq!((counts.len(), counts.bytes()), (config.capacity, config.bytes()));
        }
        assert!(ExactConfig::<KeyV4>::with_bytes(usize::MAX, Seed::new(1)).expect("enough").capacity <= MOST);
    }

    #[test]
    fn keys_of_ipv6_are_told_apart_by_all_of_their_bits() {
        let config = ExactConfig::<KeyV6>::new(320, Seed::new(3));
        let keys: Vec<_> = (0..320)
            .map(|bit| {
                let mut bytes = [0x5a; 40];
                bytes[bit / 8] ^= 1 << (bit % 8);
                KeyV6::of_bytes(bytes)
            })
            .collect();
        let updates: Vec<_> =
            (1..).zip(&keys).map(|(weight, key)| Update::new(*key, weight, &config.seed)).collect();
        let counts: ExactCounts<KeyV6> = oracle::summary_of(&config, &updates);
        for (weight, key) in (1..).zip(&keys) {
            assert_eq!(counts.estimate(key), Estimate::exact(f64::from(weight)));
        }
    }

    #[test]
    fn sums_at_their_end_stay_and_a_flow_without_weight_counts() {
        let config = config(1, 1);
        let [a, b] = [6, 17].map(|protocol| KeyV4::new([1; 8], [2; 4], protocol));
        let update = |key, weight| Update::new(key, weight, &config.seed);
        let mut counts: Counts = oracle::summary_of(&config, &[update(a, u64::MAX - 1), update(b, 0)]);
        assert_eq!((counts.not_kept(), counts.saturated()), (0, 0));
        assert_eq!(counts.distinct().bounds.expect("bounds").upper, f64::INFINITY);
        assert!(counts.heavy_hitters(0).is_cut_short);
        counts.update_burst(&[update(a, 2), update(b, u64::MAX), update(b, 1)]);
        assert_eq!((counts.total(), counts.not_kept(), counts.saturated()), (u64::MAX, u64::MAX, 1));
        for key in [a, b] {
            assert_eq!(counts.estimate(&key).bounds.expect("bounds").upper, f64::INFINITY);
        }
    }
}
