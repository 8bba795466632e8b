//! One simple hash table for several cores, with counters of 32 bits as a core's own has them.

use std::sync::atomic::{AtomicU32, Ordering};

/// Counters that any number of threads update by compare-and-swap (Alipourfard et al. 2015, section 3.4). Each stops at its limit.
#[derive(Debug)]
pub(super) struct CasTable {
    counters: Box<[AtomicU32]>,
}

impl CasTable {
    /// Makes one with this many counters, one at least.
    pub(super) fn new(counters: usize) -> Self {
        Self { counters: (0..counters.max(1)).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Returns the counter of a hash value: a share of all counters as large as the value is of all values.
    #[inline(always)]
    fn of(&self, hash: u64) -> &AtomicU32 {
        let place = (u128::from(hash) * self.counters.len() as u128) >> 64;
        &self.counters[place as usize]
    }

    /// Adds a packet's weight to the counter of its hash value.
    #[inline(always)]
    pub(super) fn add(&self, hash: u64, weight: u32) {
        let counter = self.of(hash);
        let mut known = counter.load(Ordering::Relaxed);
        while let Err(now) = counter.compare_exchange_weak(
            known,
            known.saturating_add(weight),
            Ordering::Relaxed,
            Ordering::Relaxed,
        ) {
            known = now;
        }
    }

    /// The counter of a hash value.
    pub(super) fn counter(&self, hash: u64) -> u32 {
        self.of(hash).load(Ordering::Relaxed)
    }

    /// The sum of all counters.
    pub(super) fn total(&self) -> u64 {
        self.counters.iter().map(|counter| u64::from(counter.load(Ordering::Relaxed))).sum()
    }

    /// Memory of the counters.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn no_packet_of_any_core_is_missed() {
        let table = CasTable::new(3);
        // Values of the first, the second and the last third.
        let hashes = [0, u64::MAX / 2, u64::MAX];
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..30_000).for_each(|packet| table.add(hashes[packet % 3], 2)));
            }
        });
        assert_eq!(hashes.map(|hash| table.counter(hash)), [40_000; 3]);
        assert_eq!((table.total(), table.bytes()), (120_000, 12));
    }

    #[test]
    fn a_counter_stops_at_its_limit() {
        let table = CasTable::new(1);
        (0..2).for_each(|_| table.add(7, u32::MAX - 1));
        assert_eq!(table.total(), u64::from(u32::MAX));
    }
}
