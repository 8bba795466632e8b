//! A hash table under spinlocks, against which Wu et al. (2016, section 3.2) argue for atomic operations.

use super::packets::NoKey;
use arena::shared::Section;
use packet::Seed;
use sketch::Update;
use sketch::parts::{RowHash, place};

/// Counters that several cores add to, each behind a lock of its own: the flag of the lock and the counter take the 16 bytes of an entry that
/// is updated by compare-and-swap.
#[derive(Debug)]
pub(super) struct SpinTable {
    hash: RowHash,
    counters: Box<[Section<u64>]>,
}

impl SpinTable {
    /// Bytes of an entry.
    pub(super) const ENTRY: usize = size_of::<Section<u64>>();

    pub(super) fn new(width: usize, seed: &Seed) -> Self {
        let counters = (0..width).map(|_| Section::new(0)).collect();
        Self { hash: RowHash::draw(seed, 0x5319)[0], counters }
    }

    fn counter(&self, hash: u64) -> &Section<u64> {
        &self.counters[place(self.hash.word(hash), self.counters.len() as u32)]
    }

    /// Adds packets, each with the lock of its counter held.
    #[inline]
    pub(super) fn update_burst(&self, burst: &[Update<NoKey>]) {
        for update in burst {
            self.counter(update.hash).enter(|counter| *counter += update.weight);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.counters)
    }

    /// The counter of the flow with this hash.
    pub(super) fn estimate_hash(&self, hash: u64) -> u64 {
        self.counter(hash).enter(|counter| *counter)
    }

    /// The sum of all counters.
    pub(super) fn total(&self) -> u64 {
        self.counters.iter().map(|counter| counter.enter(|counter| *counter)).sum()
    }
}
