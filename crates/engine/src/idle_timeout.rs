//! The time without a packet after which records end, where that changes while packets flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sets the idle timeout of the flow records of a run, and with it how many flows its tables hold: those of the last windows, or few
/// more than those of one. Windows are the same whatever it is, and so are sums over records. Workers look at it as they turn a window. Cloning gives
/// another handle to the same timeout.
#[derive(Clone, Debug)]
pub struct IdleTimeout(Arc<AtomicU64>);

impl IdleTimeout {
    /// A run begins with this timeout, nanoseconds; it is finite.
    pub fn new(idle_ns: u64) -> Self {
        Self(Arc::new(AtomicU64::new(idle_ns)))
    }

    /// Records end after this time from the next window on, nanoseconds; it is finite.
    pub fn set(&self, idle_ns: u64) {
        self.0.store(idle_ns, Relaxed);
    }

    pub(crate) fn ns(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
