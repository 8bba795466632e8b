//! The flows of a sample.

use crate::SketchError;
use crate::key_index::KeyIndex;
use crate::memory::filled;
use crate::row_hash::RowHash;
use packet::{Key, Seed};

/// The largest capacity.
pub(super) const MOST: usize = KeyIndex::MOST;

/// A fixed number of flows with a sum each.
#[derive(Clone, Debug)]
pub(super) struct SampleTable<K> {
    hash: RowHash,
    index: KeyIndex,
    flows: Box<[SampledFlow<K>]>,
    used: usize,
    /// Weight for which there was no room.
    pub(super) not_kept: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SampledFlow<K> {
    key: K,
    sum: u64,
    /// The number of merged samples that it is in: it began once in each.
    begun: u32,
}

impl<K: Key> SampleTable<K> {
    /// Memory for `capacity` flows.
    pub(super) const fn bytes(capacity: usize) -> usize {
        KeyIndex::bytes(capacity) + capacity * size_of::<SampledFlow<K>>()
    }

    pub(super) fn new(capacity: usize, seed: &Seed) -> Result<Self, SketchError> {
        Ok(Self {
            hash: RowHash::draw(seed, 0x5a)[0],
            index: KeyIndex::new(capacity)?,
            flows: filled(capacity, SampledFlow::default())?,
            used: 0,
            not_kept: 0,
        })
    }

    pub(super) fn clear(&mut self) {
        self.index.clear();
        (self.used, self.not_kept) = (0, 0);
    }

    /// The index's tag of a key.
    #[inline(always)]
    pub(super) fn tag(&self, hash: u64) -> u32 {
        self.hash.word(hash)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, tag: u32) {
        self.index.prefetch(tag);
    }

    fn find(&self, tag: u32, key: &K) -> Option<usize> {
        self.index.find(tag, |number| self.flows[number as usize].key == *key).map(|number| number as usize)
    }

    /// A flow's sum, and how often it began.
    pub(super) fn get(&self, hash: u64, key: &K) -> Option<(u64, u32)> {
        self.find(self.tag(hash), key).map(|number| (self.flows[number].sum, self.flows[number].begun))
    }

    /// Adds to a flow that is kept; false if it is not.
    #[inline(always)]
    pub(super) fn add_if_kept(&mut self, tag: u32, key: &K, weight: u64) -> bool {
        let found = self.find(tag, key);
        if let Some(number) = found {
            let sum = &mut self.flows[number].sum;
            *sum = sum.saturating_add(weight);
        }
        found.is_some()
    }

    /// Adds to a flow, kept or new.
    #[inline(always)]
    pub(super) fn add(&mut self, tag: u32, key: &K, weight: u64) {
        if self.add_if_kept(tag, key, weight) {
            return;
        }
        if self.used == self.flows.len() {
            self.not_kept = self.not_kept.saturating_add(weight);
            return;
        }
        self.flows[self.used] = SampledFlow { key: *key, sum: weight, begun: 1 };
        self.index.insert(tag, self.used as u32);
        self.used += 1;
    }

    /// Returns all flows with their sums, and how often each began.
    pub(super) fn all(&self) -> impl Iterator<Item = (&K, u64, u32)> {
        self.flows[..self.used].iter().map(|flow| (&flow.key, flow.sum, flow.begun))
    }

    /// Flows with a saturated sum.
    pub(super) fn saturated(&self) -> usize {
        self.all().filter(|(_, sum, _)| *sum == u64::MAX).count()
    }

    /// Adds all of another table. `seed` is that of both.
    pub(super) fn merge(&mut self, other: &Self, seed: &Seed) {
        for flow in &other.flows[..other.used] {
            let tag = self.tag(flow.key.hash(seed));
            if let Some(number) = self.find(tag, &flow.key) {
                let begun = &mut self.flows[number].begun;
                *begun = begun.saturating_add(flow.begun);
            }
            let used = self.used;
            self.add(tag, &flow.key, flow.sum);
            if self.used > used {
                self.flows[used].begun = flow.begun;
            }
        }
        self.not_kept = self.not_kept.saturating_add(other.not_kept);
    }
}
