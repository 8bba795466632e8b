//! A counter that several cores add to (Wu et al. 2016, Algorithm 4).

use crate::sync::{AtomicU64, Ordering};

/// Counts without loss while others add at the same time.
#[derive(Debug)]
pub struct AtomicCounter(AtomicU64);

impl Default for AtomicCounter {
    fn default() -> Self {
        Self::new()
    }
}

impl AtomicCounter {
    /// Creates a counter of nothing.
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds, saturating, and returns the sum.
    #[inline]
    pub fn add(&self, amount: u64) -> u64 {
        self.update(|seen| seen.saturating_add(amount))
    }

    /// Replaces the count by `next` of it, by compare-and-swap, retried if another core was in between;
    /// returns the new count.
    #[inline]
    pub fn update(&self, next: impl Fn(u64) -> u64) -> u64 {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let then = next(seen);
            // A count publishes nothing else: no order but its own.
            match self.0.compare_exchange_weak(seen, then, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return then,
                Err(now) => seen = now,
            }
        }
    }

    /// The count so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Resets the count. What other threads add meanwhile may be lost.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns the count and resets it.
    pub fn take(&mut self) -> u64 {
        let count = self.get();
        self.0 = AtomicU64::new(0);
        count
    }
}
