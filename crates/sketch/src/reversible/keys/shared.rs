//! A Reversible sketch that all cores share, as in Wu et al. 2016: counters by compare-and-swap (Algorithm 4).

use super::super::VERIFYING;
use super::{KeyBytes, ReversibleKeys, ReversibleSketch};
use crate::counters::{AtomicCounters, SplitCounters};
use crate::memory::filled_with;
use crate::{ByteKey, GridConfig, SketchError, Update};
use arena::shared::AtomicCounter;

/// [`ReversibleKeys`] that several cores update at the same time. Counters have 64 bits while they are shared.
#[derive(Debug)]
pub struct SharedReversibleKeys<K> {
    /// A sketch without counters, which knows the places of a key's.
    empty: ReversibleKeys<K>,
    counters: Box<[AtomicCounter]>,
    added: AtomicCounter,
}

impl<K: ByteKey> SharedReversibleKeys<K> {
    /// Creates an empty one, of keys that have these bytes.
    ///
    /// # Errors
    /// If the size is not possible, or the memory cannot be allocated.
    pub fn new(config: &GridConfig<ReversibleSketch>, bytes: KeyBytes) -> Result<Self, SketchError> {
        let mut empty = ReversibleKeys::new(config, bytes)?;
        empty.sketch.counters = SplitCounters::whole(0)?;
        let counters = filled_with((config.rows + VERIFYING) * config.width, AtomicCounter::new)?;
        Ok(Self { empty, counters, added: AtomicCounter::new() })
    }

    /// Memory of its counters.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.counters)
    }

    /// Counts a burst; from any number of threads. The hash of an [`Update`] is not used.
    pub fn update_burst(&self, burst: &[Update<K>]) {
        let (bytes, counters) = (self.empty.bytes, AtomicCounters(&self.counters));
        let of = |update: &Update<K>| (bytes.number(&update.key), update.weight);
        let ReversibleSketch { index, config, .. } = &self.empty.sketch;
        match config.rows {
            3 => index.count_into::<3, _>(counters, burst, of),
            4 => index.count_into::<4, _>(counters, burst, of),
            5 => index.count_into::<5, _>(counters, burst, of),
            _ => index.count_into::<6, _>(counters, burst, of),
        }
        self.added.add(burst.iter().fold(0, |sum, update| sum.saturating_add(update.weight)));
    }

    /// Returns a sketch of one core with the same counts, for queries.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn snapshot(&self) -> Result<ReversibleKeys<K>, SketchError> {
        let sketch = &self.empty.sketch;
        let mut counters = SplitCounters::new(self.counters.len())?;
        let mut saturated = 0;
        for (at, shared) in self.counters.iter().enumerate() {
            let count = u32::try_from(shared.get()).unwrap_or_else(|_| {
                // One packet at least did not fit.
                saturated += 1;
                u32::MAX
            });
            counters.set(at, count);
        }
        let index = sketch.index.clone();
        let sketch = ReversibleSketch {
            config: sketch.config.clone(),
            index,
            counters,
            total: self.added.get(),
            saturated,
        };
        Ok(ReversibleKeys { sketch, bytes: self.empty.bytes, of: self.empty.of })
    }

    /// Clears the sketch. What other threads count meanwhile may be lost.
    pub fn reset(&self) {
        self.counters.iter().for_each(AtomicCounter::clear);
        self.added.clear();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::oracle::OracleStream;
    use packet::{KeySpec, KeyV4, Seed};

    #[test]
    fn threads_count_what_one_counts() {
        let updates = OracleStream::zipf(20_000, 3_000, 1).updates;
        let spec = KeySpec::parse("dst_addr").expect("a key");
        let bytes = KeyBytes::new::<KeyV4>(&spec).expect("four bytes");
        for rows in 3..=6 {
            let config = GridConfig::<ReversibleSketch>::new(rows, 4096, Seed::new(1));
            let mut one = ReversibleKeys::<KeyV4>::new(&config, bytes).expect("memory");
            one.update_burst(&updates);
            let shared = SharedReversibleKeys::<KeyV4>::new(&config, bytes).expect("memory");
            for _ in 0..2 {
                std::thread::scope(|scope| {
                    for part in updates.chunks(5_000) {
                        let shared = &shared;
                        scope.spawn(move || part.chunks(37).for_each(|burst| shared.update_burst(burst)));
                    }
                });
                let all = shared.snapshot().expect("memory");
                assert!(all.sketch.counters.iter().eq(one.sketch.counters.iter()), "{rows} rows");
                assert_eq!(
                    (all.sketch.total, all.sketch.saturated),
                    (one.sketch.total, one.sketch.saturated)
                );
                assert_eq!(all.heavy_hitters(200), one.heavy_hitters(200));
                shared.reset();
                assert!(
                    shared.snapshot().expect("memory").sketch.counters.iter().all(|counter| counter == 0)
                );
            }
        }
    }
}
