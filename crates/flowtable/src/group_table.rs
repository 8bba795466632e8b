//! Groups of rows, each with some words of state, from which answers are made. Unlike flow tables, they are
//! filled by the outputs' thread.
//!
//! An open-addressing index of 32 bits of hash and a number finds a group; keys and states are stored
//! separately, in the order in which groups arrived. A batch is processed in stages, each of which prefetches
//! what the next one reads: three random lines a row then cost a fraction of what they cost in sequence.

use arena::ask_for_large_pages;
use arena::prefetch;
use arena::{Lease, Limits};
use packet::Seed;

/// The number that stands for no group: there was no memory for one more.
pub const NO_GROUP: u32 = u32::MAX;

/// Rows that pass through the stages together.
const BATCH: usize = 64;
/// Initial room for groups.
const LEAST: usize = 64;
/// Slots of the index for each group, at the least: with linear probing at half load, two lines are rare.
const SLOTS_PER_GROUP: usize = 2;

/// A slot of the index: the hash's lower half, by which it grows without reading any key, and the group.
#[derive(Clone, Copy, Debug)]
struct IndexSlot {
    hash: u32,
    group: u32,
}

const FREE: IndexSlot = IndexSlot { hash: 0, group: NO_GROUP };

/// An exact table from keys of `K` words to states of a fixed number of words, within the memory of a run.
#[derive(Debug)]
pub struct GroupTable<const K: usize> {
    /// A power of two of slots.
    index: Vec<IndexSlot>,
    keys: Vec<[u64; K]>,
    /// `width` words for each group.
    states: Vec<u64>,
    width: usize,
    initial: Box<[u64]>,
    seed: Seed,
    memory: Lease,
}

impl<const K: usize> GroupTable<K> {
    /// An empty table whose groups begin with the state `initial`. It allocates no memory before its first
    /// group.
    pub fn new(initial: &[u64], seed: Seed, limits: &Limits) -> Self {
        Self {
            index: Vec::new(),
            keys: Vec::new(),
            states: Vec::new(),
            width: initial.len(),
            initial: initial.into(),
            seed,
            memory: limits.empty_lease(),
        }
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without groups.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// The key of a group.
    pub fn key(&self, group: u32) -> &[u64; K] {
        &self.keys[group as usize]
    }

    /// Returns all keys, by the numbers of their groups.
    pub fn keys(&self) -> &[[u64; K]] {
        &self.keys
    }

    /// The state of a group.
    #[inline(always)]
    pub fn state(&self, group: u32) -> &[u64] {
        &self.states[group as usize * self.width..][..self.width]
    }

    /// Returns the state of a group, mutable.
    #[inline(always)]
    pub fn state_mut(&mut self, group: u32) -> &mut [u64] {
        &mut self.states[group as usize * self.width..][..self.width]
    }

    /// The states of some groups, in sequence.
    pub fn states(&self, groups: std::ops::Range<usize>) -> &[u64] {
        &self.states[groups.start * self.width..groups.end * self.width]
    }

    /// Finds or creates the group of each key; [`NO_GROUP`] if there is no memory for it.
    pub fn groups(&mut self, keys: &[[u64; K]], groups: &mut Vec<u32>) {
        groups.clear();
        groups.resize(keys.len(), NO_GROUP);
        let mut places = groups.iter_mut();
        let mut hashes = [0; BATCH];
        for batch in keys.chunks(BATCH) {
            // All may be new: growing in between would move what is prefetched.
            let has_room = self.make_room(batch.len());
            self.prefetch_index(batch, &mut hashes);
            for ((key, &hash), place) in batch.iter().zip(&hashes).zip(&mut places) {
                *place = self.find_or_add(key, hash, has_room);
            }
        }
    }

    /// Finds the group of each key; [`NO_GROUP`] if it has none.
    pub fn known_groups(&self, keys: &[[u64; K]], groups: &mut Vec<u32>) {
        groups.clear();
        let mut hashes = [0; BATCH];
        for batch in keys.chunks(BATCH) {
            self.prefetch_index(batch, &mut hashes);
            groups.extend(
                batch.iter().zip(&hashes).map(|(key, &hash)| self.find(key, hash).unwrap_or(NO_GROUP)),
            );
        }
    }

    /// The hashes of a batch of keys, whose groups are prefetched.
    #[inline(always)]
    fn prefetch_index(&self, batch: &[[u64; K]], hashes: &mut [u32; BATCH]) {
        let mask = self.index.len().wrapping_sub(1);
        for (key, hash) in batch.iter().zip(hashes.iter_mut()) {
            *hash = self.seed.hash_words(key) as u32;
            prefetch(self.index.as_ptr().wrapping_add(*hash as usize & mask));
        }
        for &hash in &hashes[..batch.len()] {
            // A guess: nearly always the slot belongs to the key or is free.
            let Some(slot) = self.index.get(hash as usize & mask) else { break };
            let group = slot.group as usize;
            prefetch(self.keys.as_ptr().wrapping_add(group));
            prefetch(self.states.as_ptr().wrapping_add(group.wrapping_mul(self.width)));
        }
    }

    /// The group of a key, or the slot of the index that it would have.
    #[inline(always)]
    fn find(&self, key: &[u64; K], hash: u32) -> Result<u32, usize> {
        let mask = self.index.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        // There always is a free slot, except that there are no slots without memory.
        while let Some(slot) = self.index.get(at) {
            if slot.group == NO_GROUP {
                break;
            }
            if slot.hash == hash && self.keys[slot.group as usize] == *key {
                return Ok(slot.group);
            }
            at = (at + 1) & mask;
        }
        Err(at)
    }

    #[inline(always)]
    fn find_or_add(&mut self, key: &[u64; K], hash: u32, has_room: bool) -> u32 {
        let at = match self.find(key, hash) {
            Ok(group) => return group,
            Err(at) => at,
        };
        if !has_room && self.keys.len() == self.keys.capacity() || self.index.is_empty() {
            return NO_GROUP;
        }
        let group = self.keys.len() as u32;
        self.index[at] = IndexSlot { hash, group };
        self.keys.push(*key);
        self.states.extend_from_slice(&self.initial);
        group
    }

    /// True if a key has a group.
    pub fn has(&self, key: &[u64; K]) -> bool {
        self.find(key, self.seed.hash_words(key) as u32).is_ok()
    }

    /// Makes room for `more` groups; false if the memory limit does not allow it. Existing groups remain.
    fn make_room(&mut self, more: usize) -> bool {
        let needed = self.keys.len() + more;
        if needed <= self.keys.capacity() {
            return true;
        }
        let capacity = needed.next_power_of_two().max(LEAST);
        if capacity >= NO_GROUP as usize {
            return false;
        }
        let slots = capacity * SLOTS_PER_GROUP;
        let bytes = slots * size_of::<IndexSlot>()
            + capacity * (size_of::<[u64; K]>() + self.width * size_of::<u64>());
        if !self.memory.grow(bytes - self.memory.bytes()) {
            return false;
        }
        grow(&mut self.keys, capacity);
        grow(&mut self.states, capacity * self.width);
        let mut index = Vec::new();
        grow(&mut index, slots);
        index.resize(slots, FREE);
        let old = std::mem::replace(&mut self.index, index);
        let mask = slots - 1;
        for slot in old.into_iter().filter(|slot| slot.group != NO_GROUP) {
            let mut at = slot.hash as usize & mask;
            while self.index[at].group != NO_GROUP {
                at = (at + 1) & mask;
            }
            self.index[at] = slot;
        }
        true
    }

    /// Removes all groups and keeps the memory.
    pub fn clear(&mut self) {
        if !self.keys.is_empty() {
            self.index.fill(FREE);
        }
        self.keys.clear();
        self.states.clear();
    }
}

/// Makes room for `capacity` values, on large pages if there are many: every second row would miss the TLB otherwise.
fn grow<T>(values: &mut Vec<T>, capacity: usize) {
    values.reserve_exact(capacity - values.len());
    ask_for_large_pages(values.as_mut_ptr().cast(), capacity * size_of::<T>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn limits() -> Limits {
        Limits::new(1 << 30, usize::MAX)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

        #[test]
        fn sums_are_those_of_a_map(
            keys in prop::collection::vec(0u64..3000, 0..5000),
            block in 1usize..300,
            seed: u64,
        ) {
            let limits = limits();
            let mut table = GroupTable::<2>::new(&[0, 7], Seed::new(seed), &limits);
            let mut groups = Vec::new();
            let mut expected: HashMap<u64, u64> = HashMap::new();
            for _ in 0..2 {
                expected.clear();
                for keys in keys.chunks(block) {
                    let words: Vec<_> = keys.iter().map(|key| [*key, key << 32]).collect();
                    table.groups(&words, &mut groups);
                    for (key, group) in keys.iter().zip(&groups) {
                        table.state_mut(*group)[0] += key;
                        *expected.entry(*key).or_default() += key;
                    }
                }
                prop_assert_eq!(table.len(), expected.len());
                let words: Vec<_> = (0..4000).map(|key| [key, key << 32]).collect();
                table.known_groups(&words, &mut groups);
                for (key, group) in (0..).zip(&groups) {
                    prop_assert_eq!(*group != NO_GROUP, expected.contains_key(&key));
                    prop_assert!(*group == NO_GROUP || table.key(*group)[0] == key);
                }
                let found: HashMap<_, _> =
                    (0..table.len() as u32).map(|group| (table.key(group)[0], table.state(group)[0])).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert!((0..table.len() as u32).all(|group| table.state(group)[1] == 7));
                table.clear();
                prop_assert!(table.is_empty());
            }
            prop_assert_eq!(limits.bytes_used(), table.bytes());
            drop(table);
            prop_assert_eq!(limits.bytes_used(), 0);
        }
    }

    #[test]
    fn without_memory_known_groups_are_still_found() {
        let limits = Limits::new(20_000, usize::MAX);
        let mut table = GroupTable::<5>::new(&[0], Seed::new(1), &limits);
        let keys: Vec<_> = (0..1000).map(|key| [key, 0, 0, 0, 0]).collect();
        let mut groups = Vec::new();
        table.groups(&keys, &mut groups);
        let placed = groups.iter().filter(|group| **group != NO_GROUP).count();
        assert!((64..1000).contains(&placed) && table.len() == placed, "{placed}");
        assert!(limits.bytes_used() <= 20_000);
        let mut again = Vec::new();
        table.groups(&keys, &mut again);
        assert_eq!(again, groups);
        let nothing = Limits::new(0, usize::MAX);
        let mut table = GroupTable::<2>::new(&[0], Seed::new(1), &nothing);
        table.groups(&[[1, 2], [3, 4]], &mut groups);
        assert_eq!(groups, [NO_GROUP; 2]);
    }
}
