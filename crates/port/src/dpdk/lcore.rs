//! A thread that polls is an lcore for as long as it lives, so that pools cache mbufs for it: other threads
//! access a pool's ring for every burst.

use super::eal::{self, Eal};
use std::cell::Cell;

/// True if [`register`] made the thread an lcore.
struct Lcore(Cell<bool>);

thread_local! {
    static LCORE: Lcore = const { Lcore(Cell::new(false)) };
}

/// Makes the calling thread an lcore until it ends, if it is none; false if DPDK has no place for one more.
pub(super) fn register(eal: &Eal) -> bool {
    // SAFETY: EAL runs; the call is about the calling thread alone.
    let (result, _) = eal.logged(|| unsafe { dpdk_sys::shim_thread_register() });
    if result == 1 {
        LCORE.with(|lcore| lcore.0.set(true));
    }
    result >= 0
}

impl Drop for Lcore {
    /// Runs on the thread itself, when it ends: only it can release its registration, and DPDK has no more
    /// than 128, which the runs of one process would use up. The thread that drops a source is no indication:
    /// often the source was only lent to it.
    fn drop(&mut self) {
        if self.0.get() {
            // SAFETY: EAL runs meanwhile; the calling thread was registered by `register`.
            eal::while_running(|| unsafe { dpdk_sys::rte_thread_unregister() });
        }
    }
}
