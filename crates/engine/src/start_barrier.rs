//! The barrier at which threads wait for one another before a run begins.

use crate::backoff::Backoff;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Opens when this many have arrived, unless it is closed before.
#[derive(Debug)]
pub(crate) struct StartBarrier {
    missing: AtomicUsize,
    is_closed: AtomicBool,
}

impl StartBarrier {
    pub(crate) fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads), is_closed: AtomicBool::new(false) }
    }

    /// Waits for the others. False if one of them will never arrive.
    pub(crate) fn pass(&self) -> bool {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let mut backoff = Backoff::default();
        while self.missing.load(Ordering::Acquire) != 0 {
            if self.is_closed.load(Ordering::Relaxed) {
                return false;
            }
            backoff.wait();
        }
        true
    }

    /// Releases all waiting threads, because a thread could not be started.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_pass_or_none_does() {
        for comes in [3, 2] {
            let barrier = StartBarrier::new(3);
            thread::scope(|scope| {
                let passing: Vec<_> = (0..comes).map(|_| scope.spawn(|| barrier.pass())).collect();
                if comes < 3 {
                    barrier.close();
                }
                assert!(passing.into_iter().all(|thread| thread.join().unwrap() == (comes == 3)));
            });
        }
    }
}
