//! Fields that must change together (Wu et al. 2016, Algorithm 6).

use crate::sync::{AtomicU32, Ordering, UnsafeCell, spin_loop};

const FREE: u32 = 0;
const TAKEN: u32 = 1;

/// A value that one core at a time may read or change, guarded by a flag set by compare-and-swap. A second
/// core spins: a section is a few instructions long.
#[derive(Debug)]
pub struct Section<T> {
    flag: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is accessed only by the thread that has set the flag, one at a time, or through `&mut`.
unsafe impl<T: Send> Sync for Section<T> {}

impl<T> Section<T> {
    /// Creates a section around a value.
    pub fn new(value: T) -> Self {
        Self { flag: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Calls `change` with the value. A panic in it leaves the section closed permanently: it must do no more
    /// than assign.
    #[inline]
    pub fn enter<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        while self.flag.compare_exchange_weak(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Reading does not take the cache line from the core inside.
            while self.flag.load(Ordering::Relaxed) == TAKEN {
                spin_loop();
                #[cfg(loom)]
                loom::thread::yield_now();
            }
        }
        // SAFETY: the flag was free and stays ours until it is reset, so no other reference exists.
        let done = self.value.with_mut(|value| change(unsafe { &mut *value }));
        self.flag.store(FREE, Ordering::Release);
        done
    }
}
