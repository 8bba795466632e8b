//! The flows with the largest estimates, kept next to a structure that does not know keys.

use super::SketchError;
use super::key_index::KeyIndex;
use super::memory::filled;
use packet::Key;

/// The most candidates.
pub(crate) const MOST: usize = 1 << 24;

#[derive(Clone, Copy, Debug, Default)]
struct Candidate<K> {
    key: K,
    hash: u64,
    /// The estimate at its last packet.
    latest: i64,
}

/// The `capacity` flows with the largest estimates of all that were observed: a heap with the least on top.
///
/// Heavy flows come with nearly every packet, so a packet of a candidate only records its estimate and leaves
/// the heap as it is; the heap is restored when a new flow requests a place. A flow that is no candidate and
/// has no more than the least one costs a comparison. Flows with the same hash are one flow, as they are for
/// the array.
///
/// Where estimates only grow, a flow is left out at the end only if `capacity` others had at least as much
/// when its last packet arrived.
#[derive(Clone, Debug)]
pub(crate) struct Candidates<K> {
    /// The first `len` are in use; they are not moved.
    slots: Box<[Candidate<K>]>,
    /// An estimate that each slot had, and its number; ordered as a heap.
    heap: Box<[(i64, u32)]>,
    len: usize,
    /// Slots by their hashes.
    index: KeyIndex,
    /// A flow needs more than this.
    floor: i64,
    /// The most that a flow may have that neither of two merged lists had.
    lacking: i64,
}

impl<K: Key> Candidates<K> {
    /// Memory for `capacity` of them.
    pub(crate) fn bytes_of(capacity: usize) -> usize {
        let each = size_of::<Candidate<K>>() + size_of::<(i64, u32)>();
        capacity * each + KeyIndex::bytes(capacity)
    }

    /// Room for `capacity`, from 1 to [`MOST`].
    ///
    /// # Errors
    /// If the machine does not have the memory.
    pub(crate) fn new(capacity: usize) -> Result<Self, SketchError> {
        Ok(Self {
            slots: filled(capacity, Candidate::default())?,
            heap: filled(capacity, (0, 0))?,
            len: 0,
            index: KeyIndex::new(capacity)?,
            floor: 0,
            lacking: 0,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        Self::bytes_of(self.slots.len())
    }

    pub(crate) fn clear(&mut self) {
        self.index.clear();
        (self.len, self.floor, self.lacking) = (0, 0, 0);
    }

    /// Keys and hashes of all, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.slots[..self.len].iter().map(|candidate| (candidate.key, candidate.hash))
    }

    /// The least estimate of a candidate where no place is free: others may have had as much.
    pub(crate) fn least(&self) -> Option<i64> {
        let latest = self.slots.iter().map(|candidate| candidate.latest);
        latest.min().filter(|_| self.len == self.slots.len())
    }

    /// The most that a flow that is no candidate may have.
    pub(crate) fn most_lacking(&self) -> i64 {
        self.lacking.max(self.least().unwrap_or(0))
    }

    /// True if flows with `threshold` may be none of the candidates.
    pub(crate) fn may_lack(&self, threshold: u64) -> bool {
        self.most_lacking() > 0 && self.most_lacking() as u64 >= threshold
    }

    /// Keeps those flows of both lists that have the largest estimates by the present `rank` of a hash.
    pub(crate) fn merge(&mut self, other: &Self, rank: impl Fn(u64) -> i64) {
        let lacking = self.most_lacking().saturating_add(other.most_lacking());
        let both: Vec<(K, u64)> = self.iter().chain(other.iter()).collect();
        self.clear();
        both.into_iter().for_each(|(key, hash)| self.observe(key, hash, rank(hash)));
        self.lacking = lacking;
    }

    /// Keeps those flows of all lists that have the largest estimates by the present `rank` of a hash, where the lists are of cores that count in one
    /// array: each estimate in a list is that of all cores then. Of the packets of a flow that no core kept, one was begun last. Its core found
    /// all others counted, but for one that each other core may have had in hand.
    pub(crate) fn merge_shared(&mut self, cores: &[&CoreCandidates<K>], rank: impl Fn(u64) -> i64) {
        for core in cores {
            self.merge(&core.flows, &rank);
        }
        let lacking = cores.iter().map(|core| core.flows.most_lacking()).max().unwrap_or(0);
        let largest = cores.iter().map(|core| core.largest).max().unwrap_or(0);
        let in_hand = i64::try_from(largest).unwrap_or(i64::MAX).saturating_mul(cores.len() as i64 - 1);
        // Where each core had room for all of its flows, none is lacking.
        self.lacking = if lacking == 0 { 0 } else { lacking.saturating_add(in_hand) };
    }

    /// A packet's flow, with its estimate after the packet. Nothing at or below zero is a candidate.
    #[inline(always)]
    pub(crate) fn observe(&mut self, key: K, hash: u64, estimate: i64) {
        if estimate > self.floor {
            self.take(key, hash, estimate);
        }
    }

    #[inline]
    fn take(&mut self, key: K, hash: u64, estimate: i64) {
        if let Some(slot) = self.find(hash) {
            self.slots[slot].latest = estimate;
            return;
        }
        self.add(Candidate { key, hash, latest: estimate });
    }

    fn add(&mut self, candidate: Candidate<K>) {
        if self.len < self.slots.len() {
            let slot = self.len;
            self.len += 1;
            self.put(slot, candidate);
            self.heap[slot] = (candidate.latest, slot as u32);
            self.sift_up(slot);
        } else {
            self.renew_top();
            let (least, slot) = self.heap[0];
            self.floor = least;
            if candidate.latest <= least {
                return;
            }
            self.index.remove(tag(self.slots[slot as usize].hash), slot);
            self.put(slot as usize, candidate);
            self.heap[0] = (candidate.latest, slot);
            self.sift_down();
        }
        if self.len == self.slots.len() {
            self.floor = self.heap[0].0;
        }
    }

    /// Repeats until the top has its flow's present estimate.
    fn renew_top(&mut self) {
        loop {
            let (was, slot) = self.heap[0];
            let latest = self.slots[slot as usize].latest;
            if latest == was {
                return;
            }
            self.heap[0].0 = latest;
            self.sift_down();
        }
    }

    fn sift_up(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sift_down(&mut self) {
        let heap = &mut self.heap[..self.len];
        let mut at = 0;
        loop {
            let left = 2 * at + 1;
            let Some(&first) = heap.get(left) else { return };
            let child =
                if heap.get(left + 1).is_some_and(|second| *second < first) { left + 1 } else { left };
            if heap[at] <= heap[child] {
                return;
            }
            heap.swap(at, child);
            at = child;
        }
    }

    #[inline(always)]
    fn find(&self, hash: u64) -> Option<usize> {
        let number = self.index.find(tag(hash), |number| self.slots[number as usize].hash == hash);
        number.map(|number| number as usize)
    }

    fn put(&mut self, slot: usize, candidate: Candidate<K>) {
        self.slots[slot] = candidate;
        self.index.insert(tag(candidate.hash), slot as u32);
    }
}

/// The index's tag of a hash.
#[inline(always)]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The flows that one of several cores keeps of those that it counts in a [`crate::SharedArray`].
#[derive(Clone, Debug)]
pub struct CoreCandidates<K> {
    pub(crate) flows: Candidates<K>,
    /// The largest weight that the core counted at once.
    pub(crate) largest: u64,
}

impl<K: Key> CoreCandidates<K> {
    /// Creates an empty list with room for so many flows, as many as a [`crate::Tracked`] array of the same configuration keeps.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn new(flows: usize) -> Result<Self, SketchError> {
        Ok(Self { flows: Candidates::new(flows)?, largest: 0 })
    }

    /// Memory of a list with room for so many flows.
    pub fn bytes_of(flows: usize) -> usize {
        Candidates::<K>::bytes_of(flows)
    }

    /// Memory of the list.
    pub fn bytes(&self) -> usize {
        self.flows.bytes()
    }

    /// Removes all flows and keeps the memory.
    pub fn clear(&mut self) {
        self.flows.clear();
        self.largest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::KeyV4;
    use std::collections::{BTreeMap, HashSet};

    fn key(number: u64) -> KeyV4 {
        KeyV4::new(number.to_be_bytes(), [0; 4], 6)
    }

    /// Estimates that only grow, of hashes that collide in the index.
    #[test]
    fn the_largest_are_kept() {
        for (capacity, flows) in [(1, 10), (7, 40), (64, 60), (64, 1000), (100, 3000)] {
            let mut candidates = Candidates::new(capacity).expect("memory");
            let mut truth = BTreeMap::<u64, i64>::new();
            let mut state = 88172645463325252_u64 ^ capacity as u64;
            for _ in 0..20_000 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                // Small numbers more often.
                let flow = (state % flows).min((state >> 32) % flows);
                let hash = (flow % 13) << 3 | flow << 40;
                let count = truth.entry(hash).or_default();
                *count += 1;
                candidates.observe(key(flow), hash, *count);
            }
            let kept: HashSet<u64> = candidates.iter().map(|(_, hash)| hash).collect();
            assert_eq!(kept.len(), capacity.min(truth.len()));
            let mut counts: Vec<i64> = truth.values().copied().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let least = counts[kept.len() - 1];
            for (hash, count) in &truth {
                assert!(
                    kept.contains(hash) || *count <= least,
                    "{hash:x} with {count} was left out: {least}"
                );
            }
            for slot in 0..candidates.len {
                assert_eq!(candidates.find(candidates.slots[slot].hash), Some(slot));
            }
        }
    }
}
