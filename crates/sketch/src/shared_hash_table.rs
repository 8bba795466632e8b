//! A Simple Hash Table that all cores share, as in Wu et al. 2016: an entry gets its key once (Algorithm 5), and its counter by
//! compare-and-swap (Algorithm 4).

use super::grid::GridConfig;
use super::memory::{filled_with, prefetch};
use super::row_hash::{RowHash, place};
use super::simple_hash_table::{PURPOSE, SimpleHashTable};
use super::summary::BURST;
use super::{SketchError, Summary, Update};
use arena::shared::AtomicCounter;
use arena::sync::{AtomicU32, Ordering, UnsafeCell, spin_loop};
use packet::Key;

/// A [`SimpleHashTable`] that several cores update at the same time. Counters have 64 bits while they are shared.
///
/// Which of the flows of an entry is kept depends on which core was first. As the key is never checked, only
/// a reader of the table waits for it to be written.
#[derive(Debug)]
pub struct SharedHashTable<K: Key> {
    config: GridConfig<SimpleHashTable<K>>,
    hash: RowHash,
    entries: Box<[SharedEntry<K>]>,
}

/// An entry without a key.
const FREE: u32 = 0;
/// The key is being written (`filled_flag`).
const FILLED: u32 = 1;
/// The key is there (`finish_flag`).
const FINISHED: u32 = 2;

/// Half a cache line for an IPv4 key.
#[derive(Debug)]
struct SharedEntry<K> {
    state: AtomicU32,
    key: UnsafeCell<K>,
    count: AtomicCounter,
}

// SAFETY: a key is written by the one thread whose compare-and-swap took the entry, before it stores
// `FINISHED` with release order, and read only after a load of that with acquire order; it does not change
// again until `&mut` clears it.
unsafe impl<K: Send + Sync> Sync for SharedEntry<K> {}

impl<K: Key> SharedEntry<K> {
    fn new() -> Self {
        Self { state: AtomicU32::new(FREE), key: UnsafeCell::new(K::default()), count: AtomicCounter::new() }
    }

    #[inline(always)]
    fn update(&self, key: &K, weight: u64) {
        // Usually the entry has a key: the cache line is taken from other cores only by the counter.
        if self.state.load(Ordering::Relaxed) == FREE
            && self.state.compare_exchange(FREE, FILLED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            // SAFETY: the entry is exclusively ours until the store below publishes it.
            self.key.with_mut(|place| unsafe { *place = *key });
            self.state.store(FINISHED, Ordering::Release);
        }
        self.count.add(weight);
    }

    /// The key and the count; `None` before the first packet.
    fn get(&self) -> Option<(K, u64)> {
        loop {
            match self.state.load(Ordering::Acquire) {
                FREE => return None,
                FINISHED => break,
                _ => {
                    spin_loop();
                    #[cfg(loom)]
                    loom::thread::yield_now();
                }
            }
        }
        // SAFETY: finished, by a load with acquire order: the key is written and does not change again.
        Some((self.key.with(|key| unsafe { *key }), self.count.get()))
    }
}

impl<K: Key> SharedHashTable<K> {
    /// An empty one.
    ///
    /// # Errors
    /// If the width is zero, or the memory cannot be allocated.
    pub fn new(config: &GridConfig<SimpleHashTable<K>>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, PURPOSE)[0],
            entries: filled_with(config.width, SharedEntry::new)?,
        })
    }

    /// The configuration: that of a table for one core, which takes less memory.
    pub fn configuration(&self) -> &GridConfig<SimpleHashTable<K>> {
        &self.config
    }

    /// Memory of its entries.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }

    /// Counts a burst; from any number of threads.
    pub fn update_burst(&self, burst: &[Update<K>]) {
        let width = self.config.width as u32;
        let mut places = [0_u32; BURST];
        for burst in burst.chunks(BURST) {
            for (at, update) in places.iter_mut().zip(burst) {
                *at = place(self.hash.word(update.hash), width) as u32;
                prefetch(&self.entries, *at as usize);
            }
            for (&at, update) in places.iter().zip(burst) {
                self.entries[at as usize].update(&update.key, update.weight);
            }
        }
    }

    /// A table of one core with the same counts, for queries. While others update, each counter is one that
    /// it had.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn snapshot(&self) -> Result<SimpleHashTable<K>, SketchError> {
        let mut table = SimpleHashTable::new(&self.config)?;
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some((key, count)) = entry.get() {
                table.set(at, key, count);
            }
        }
        Ok(table)
    }

    /// Clears the table and keeps its memory.
    pub fn reset(&mut self) {
        self.entries.fill_with(SharedEntry::new);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::oracle::OracleStream;
    use super::super::{Frequency, HeavyHitters};
    use super::*;
    use packet::{KeyV4, Seed};

    #[test]
    fn threads_count_what_one_counts() {
        let stream = OracleStream::bytes(60_000, 5_000, 1);
        let config = GridConfig::with_width(700, Seed::new(1));
        let one: SimpleHashTable<KeyV4> = super::super::oracle::summary_of(&config, &stream.updates);
        let mut shared = SharedHashTable::new(&config).expect("a table");
        for _ in 0..3 {
            std::thread::scope(|scope| {
                for part in stream.updates.chunks(20_000) {
                    scope.spawn(|| part.chunks(37).for_each(|burst| shared.update_burst(burst)));
                }
            });
            let snapshot = shared.snapshot().expect("memory");
            assert!(stream.counts.keys().all(|key| snapshot.estimate(key) == one.estimate(key)));
            // Any flow of an entry may be kept, with the count of them all.
            let (ours, theirs) = (snapshot.heavy_hitters(1).keys, one.heavy_hitters(1).keys);
            assert_eq!(ours.len(), theirs.len());
            assert!(ours.iter().all(|(key, estimate)| one.estimate(key).value == estimate.value));
            shared.reset();
            assert!(shared.snapshot().expect("memory").heavy_hitters(0).keys.is_empty());
        }
        assert!(SharedHashTable::<KeyV4>::new(&GridConfig::with_width(0, Seed::new(1))).is_err());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::HeavyHitters;
    use loom::{sync::Arc, thread};
    use packet::{KeyV4, Seed};

    fn update(flow: u8, weight: u64) -> Update<KeyV4> {
        Update::new(KeyV4::new([flow; 8], [0; 4], 6), weight, &Seed::new(1))
    }

    #[test]
    fn an_entry_gets_one_key_and_all_counts() {
        loom::model(|| {
            let config = GridConfig::with_width(1, Seed::new(1));
            let table = Arc::new(SharedHashTable::new(&config).expect("a table"));
            let other = Arc::clone(&table);
            let thread = thread::spawn(move || other.update_burst(&[update(1, 5), update(1, 10)]));
            table.update_burst(&[update(2, 100)]);
            // A concurrent reader sees one of the keys, complete.
            for (key, _) in table.snapshot().expect("memory").heavy_hitters(0).keys {
                assert!([update(1, 0).key, update(2, 0).key].contains(&key));
            }
            thread.join().expect("no thread fails");
            let keys = table.snapshot().expect("memory").heavy_hitters(0).keys;
            assert!(keys.len() == 1 && keys[0].1.value == 115.0);
            assert!([update(1, 0).key, update(2, 0).key].contains(&keys[0].0));
        });
    }
}
