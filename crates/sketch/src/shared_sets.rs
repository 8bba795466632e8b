//! A Reversible sketch with sets that all cores share, as in Wu et al. 2016: counters by Algorithm 4, values put into sets by Algorithm 5.

use super::grid::{GridConfig, GridRows};
use super::memory::{filled_with, prefetch};
use super::row_hash::MAX_ROWS;
use super::summary::BURST;
use super::word_sets::{self, ReversibleSets};
use super::{ByteKey, SketchError, Summary, Update};
use arena::shared::AtomicCounter;
use arena::sync::{AtomicU64, Ordering};

/// [`ReversibleSets`] that several cores update at the same time. Counters have 64 bits while they are shared.
///
/// Instead of Wu et al.'s lists of values, the sets here have a bit for each value: a value is inserted by a
/// compare-and-swap of its word, and usually it is present already, which takes a load.
#[derive(Debug)]
pub struct SharedReversibleSets<K: ByteKey> {
    config: GridConfig<ReversibleSets<K>>,
    rows: GridRows,
    counters: Box<[AtomicCounter]>,
    sets: Box<[AtomicU64]>,
    added: AtomicCounter,
}

/// Puts a value into a set of 256.
#[inline(always)]
fn put(set: &[AtomicU64], value: u8) {
    let word = &set[usize::from(value / 64)];
    let bit = 1 << (value % 64);
    let mut seen = word.load(Ordering::Relaxed);
    // A bit publishes only itself: no order.
    while seen & bit == 0 {
        match word.compare_exchange_weak(seen, seen | bit, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

impl<K: ByteKey> SharedReversibleSets<K> {
    /// Words of all sets of a counter.
    const SETS: usize = K::BYTES * word_sets::SET;

    /// An empty one.
    ///
    /// # Errors
    /// If the size is not possible, or the memory cannot be allocated.
    pub fn new(config: &GridConfig<ReversibleSets<K>>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            rows: GridRows::new(config, word_sets::PURPOSE),
            counters: filled_with(config.cells(), AtomicCounter::new)?,
            sets: filled_with(config.cells() * Self::SETS, || AtomicU64::new(0))?,
            added: AtomicCounter::new(),
        })
    }

    /// The configuration.
    pub fn configuration(&self) -> &GridConfig<ReversibleSets<K>> {
        &self.config
    }

    /// Memory of its counters and sets.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.counters) + size_of_val(&*self.sets)
    }

    /// Counts a burst; from any number of threads.
    pub fn update_burst(&self, burst: &[Update<K>]) {
        let mut places = [[0; MAX_ROWS]; BURST];
        for burst in burst.chunks(word_sets::BURST) {
            self.rows.locate(burst, &mut places, |place| {
                prefetch(&self.counters, place);
                (0..Self::SETS).step_by(8).for_each(|word| prefetch(&self.sets, place * Self::SETS + word));
            });
            for (places, update) in places.iter().zip(burst) {
                let mut bytes = [0; word_sets::MOST_KEY];
                update.key.to_bytes(&mut bytes);
                for &place in &places[..self.rows.len()] {
                    self.counters[place as usize].add(update.weight);
                    let sets = &self.sets[place as usize * Self::SETS..][..Self::SETS];
                    for (set, byte) in sets.chunks_exact(word_sets::SET).zip(bytes) {
                        put(set, byte);
                    }
                }
            }
            self.added.add(burst.iter().fold(0, |sum, update| sum.saturating_add(update.weight)));
        }
    }

    /// A sketch of one core with the same counts, for queries. While others update, each counter is one that
    /// it had, and may be ahead of its sets by a packet a core.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn snapshot(&self) -> Result<ReversibleSets<K>, SketchError> {
        let mut sketch = ReversibleSets::new(&self.config)?;
        for (place, counter) in self.counters.iter().enumerate() {
            let sets = &self.sets[place * Self::SETS..][..Self::SETS];
            sketch.set(place, counter.get(), sets.iter().map(|word| word.load(Ordering::Relaxed)));
        }
        sketch.set_total(self.added.get());
        Ok(sketch)
    }

    /// Clears the sets and keeps their memory. What other threads count meanwhile may be lost.
    pub fn reset(&self) {
        self.counters.iter().for_each(AtomicCounter::clear);
        self.sets.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.added.clear();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::oracle::{self, OracleStream};
    use super::*;
    use packet::{KeyV4, Seed};

    #[test]
    fn sums_stop_at_their_end() {
        let config = GridConfig::new(3, 10, Seed::new(1));
        let update = Update::new(KeyV4::default(), u64::MAX, &config.seed);
        let shared = SharedReversibleSets::new(&config).expect("a sketch");
        shared.update_burst(&[update; 2]);
        shared.update_burst(&[update]);
        assert_eq!(shared.added.get(), u64::MAX);
        assert!(shared.counters.iter().all(|counter| [0, u64::MAX].contains(&counter.get())));
    }

    #[test]
    fn threads_count_what_one_counts() {
        let stream = OracleStream::bytes(30_000, 2_000, 1);
        let config = GridConfig::new(3, 800, Seed::new(1));
        let one: ReversibleSets<KeyV4> = oracle::summary_of(&config, &stream.updates);
        let shared = SharedReversibleSets::new(&config).expect("a sketch");
        for _ in 0..3 {
            std::thread::scope(|scope| {
                for part in stream.updates.chunks(10_000) {
                    scope.spawn(|| part.chunks(37).for_each(|burst| shared.update_burst(burst)));
                }
            });
            assert!(shared.snapshot().expect("memory").is_equal(&one));
            shared.reset();
            assert!(
                shared.snapshot().expect("memory").is_equal(&ReversibleSets::new(&config).expect("memory"))
            );
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{sync::Arc, thread};

    #[test]
    fn no_value_is_lost() {
        loom::model(|| {
            let set: Arc<[AtomicU64; 1]> = Arc::new([AtomicU64::new(0)]);
            let other = Arc::clone(&set);
            let thread = thread::spawn(move || [3, 7].into_iter().for_each(|value| put(&*other, value)));
            [7, 9].into_iter().for_each(|value| put(&*set, value));
            thread.join().expect("no thread fails");
            assert_eq!(set[0].load(Ordering::Relaxed), 1 << 3 | 1 << 7 | 1 << 9);
        });
    }
}
