//! Bitmaps and registers of distinct counts that all cores share. A bit is set, and a register raised, by one atomic operation, and mostly
//! neither changes: then it takes a load.

use super::memory::{filled_with, prefetch};
use super::summary::BURST;
use super::{HyperLogLog, LinearBitmap, MultiResolutionBitmap, SketchError, Summary, Update};
use arena::sync::{AtomicU8, AtomicU64, Ordering};

/// A bitmap whose bits cores may share: what one core has of it follows from its bits alone.
pub trait SharedBits: Summary {
    /// Returns the bit of a hash.
    fn bit(&self, hash: u64) -> usize;
    /// Returns the words of the bits.
    fn words(&mut self) -> &mut [u64];
}

impl SharedBits for LinearBitmap {
    #[inline(always)]
    fn bit(&self, hash: u64) -> usize {
        self.place(hash)
    }

    fn words(&mut self) -> &mut [u64] {
        self.bits_mut()
    }
}

impl SharedBits for MultiResolutionBitmap {
    #[inline(always)]
    fn bit(&self, hash: u64) -> usize {
        self.place(hash)
    }

    fn words(&mut self) -> &mut [u64] {
        self.bits_mut()
    }
}

/// A bitmap in which several cores set bits at the same time.
#[derive(Debug)]
pub struct SharedBitmap<B> {
    /// An empty bitmap, which knows the place of a hash.
    empty: B,
    words: Box<[AtomicU64]>,
}

impl<B: SharedBits> SharedBitmap<B> {
    /// Creates an empty one.
    ///
    /// # Errors
    /// If the size is not possible, or the memory cannot be allocated.
    pub fn new(config: &B::Configuration) -> Result<Self, SketchError> {
        let mut empty = B::new(config)?;
        let words = filled_with(empty.words().len(), || AtomicU64::new(0))?;
        Ok(Self { empty, words })
    }

    /// Memory of its bits, and of the empty bitmap.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words) + self.empty.bytes()
    }

    /// Counts a burst; from any number of threads.
    pub fn update_burst<K>(&self, burst: &[Update<K>]) {
        let mut places = [0; BURST];
        for burst in burst.chunks(BURST) {
            for (at, update) in places.iter_mut().zip(burst) {
                *at = self.empty.bit(update.hash);
                prefetch(&self.words, *at / 64);
            }
            for at in &places[..burst.len()] {
                let (word, bit) = (&self.words[at / 64], 1 << (at % 64));
                // A bit publishes only itself: no order.
                if word.load(Ordering::Relaxed) & bit == 0 {
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns a bitmap of one core with the same bits, for queries.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn snapshot(&self) -> Result<B, SketchError> {
        let mut bitmap = B::new(self.empty.configuration())?;
        for (ours, shared) in bitmap.words().iter_mut().zip(&self.words) {
            *ours = shared.load(Ordering::Relaxed);
        }
        Ok(bitmap)
    }

    /// Clears all bits. What other threads count meanwhile may be lost.
    pub fn reset(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// A [`HyperLogLog`] whose registers several cores raise at the same time.
#[derive(Debug)]
pub struct SharedHyperLogLog {
    /// An empty one, which knows the register and the run of a hash.
    empty: HyperLogLog,
    registers: Box<[AtomicU8]>,
}

impl SharedHyperLogLog {
    /// Creates an empty one.
    ///
    /// # Errors
    /// If the size is not possible, or the memory cannot be allocated.
    pub fn new(config: &<HyperLogLog as Summary>::Configuration) -> Result<Self, SketchError> {
        let mut empty = HyperLogLog::new(config)?;
        let registers = filled_with(empty.registers_mut().len(), || AtomicU8::new(0))?;
        Ok(Self { empty, registers })
    }

    /// Memory of its registers, and of the empty ones.
    pub fn bytes(&self) -> usize {
        self.registers.len() + self.empty.bytes()
    }

    /// Counts a burst; from any number of threads.
    pub fn update_burst<K>(&self, burst: &[Update<K>]) {
        let mut places = [0; BURST];
        for burst in burst.chunks(BURST) {
            for (at, update) in places.iter_mut().zip(burst) {
                *at = self.empty.register(update.hash);
                prefetch(&self.registers, *at);
            }
            for (at, update) in places.iter().zip(burst) {
                let (register, run) = (&self.registers[*at], self.empty.run(update.hash));
                if run > register.load(Ordering::Relaxed) {
                    register.fetch_max(run, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns registers of one core with the same runs, for queries.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn snapshot(&self) -> Result<HyperLogLog, SketchError> {
        let mut registers = HyperLogLog::new(self.empty.configuration())?;
        for (ours, shared) in registers.registers_mut().iter_mut().zip(&self.registers) {
            *ours = shared.load(Ordering::Relaxed);
        }
        Ok(registers)
    }

    /// Clears all registers. What other threads count meanwhile may be lost.
    pub fn reset(&self) {
        self.registers.iter().for_each(|register| register.store(0, Ordering::Relaxed));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::oracle::{self, OracleStream};
    use super::super::{Cardinality, GridConfig};
    use super::*;
    use packet::Seed;

    /// Four threads, twice with a reset in between, against one core; `shared` counts, gives a snapshot and is cleared.
    fn counts_what_one_core_counts<S: Cardinality + std::fmt::Debug>(
        one: &S,
        parts: &[Update<packet::KeyV4>],
        (count, snapshot, reset): (impl Fn(&[Update<packet::KeyV4>]) + Sync, impl Fn() -> S, impl Fn()),
    ) {
        for _ in 0..2 {
            std::thread::scope(|scope| {
                for part in parts.chunks(parts.len().div_ceil(4)) {
                    let count = &count;
                    scope.spawn(move || part.chunks(37).for_each(count));
                }
            });
            // All that there is of it: bits, or registers.
            assert_eq!(format!("{:?}", snapshot()), format!("{one:?}"));
            assert_eq!(snapshot().distinct(), one.distinct());
            reset();
            assert_eq!(snapshot().distinct().value, 0.0);
        }
    }

    #[test]
    fn threads_count_what_one_counts() {
        let updates = OracleStream::zipf(20_000, 3_000, 1).updates;
        let seed = Seed::new(1);
        let config = GridConfig::<LinearBitmap>::new(1, 2_000, seed);
        let (one, shared) =
            (oracle::summary_of(&config, &updates), SharedBitmap::new(&config).expect("memory"));
        let all = (
            |part: &[_]| shared.update_burst(part),
            || shared.snapshot().expect("memory"),
            || shared.reset(),
        );
        counts_what_one_core_counts::<LinearBitmap>(&one, &updates, all);
        let config = GridConfig::<MultiResolutionBitmap>::new(4, 300, seed);
        let (one, shared) =
            (oracle::summary_of(&config, &updates), SharedBitmap::new(&config).expect("memory"));
        let all = (
            |part: &[_]| shared.update_burst(part),
            || shared.snapshot().expect("memory"),
            || shared.reset(),
        );
        counts_what_one_core_counts::<MultiResolutionBitmap>(&one, &updates, all);
        let config = GridConfig::<HyperLogLog>::new(1, 256, seed);
        let (one, shared) =
            (oracle::summary_of(&config, &updates), SharedHyperLogLog::new(&config).expect("memory"));
        let all = (
            |part: &[_]| shared.update_burst(part),
            || shared.snapshot().expect("memory"),
            || shared.reset(),
        );
        counts_what_one_core_counts::<HyperLogLog>(&one, &updates, all);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::{Cardinality, GridConfig};
    use super::*;
    use loom::{sync::Arc, thread};
    use packet::{KeyV4, Seed};

    #[test]
    fn no_bit_is_lost() {
        loom::model(|| {
            let seed = Seed::new(1);
            let of = |flow: u8| Update::new(KeyV4::new([flow; 8], [0; 4], 6), 1, &seed);
            let config = GridConfig::<LinearBitmap>::new(1, 64, seed);
            let shared = Arc::new(SharedBitmap::<LinearBitmap>::new(&config).expect("memory"));
            let other = Arc::clone(&shared);
            let update = of(1);
            let thread = thread::spawn(move || other.update_burst(&[update]));
            shared.update_burst(&[of(2)]);
            thread.join().expect("no thread fails");
            let mut one = LinearBitmap::new(&config).expect("memory");
            super::super::UpdateBurst::update_burst(&mut one, &[of(1), of(2)]);
            assert_eq!(shared.snapshot().expect("memory").distinct(), one.distinct());
        });
    }
}
