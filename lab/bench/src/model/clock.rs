//! Packets one at a time, and the time that one takes: a fence that waits for loads, and the time stamp
//! counter.

use crate::compare::ns;
use std::time::{Duration, Instant};

/// True if this processor's fence and counter are known here.
pub(super) const IS_KNOWN: bool = cfg!(target_arch = "x86_64");

/// Returns when all loads before it have their values: without it a processor overlaps the next packets,
/// which hides what one packet waits for.
#[inline(always)]
pub(super) fn wait_for_loads() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of the architecture; a fence touches no memory.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
}

/// The time stamp counter between two fences: instructions before it have completed, those after it have not
/// begun.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    wait_for_loads();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a register that programs may read.
    let ticks = unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    let ticks = 0;
    wait_for_loads();
    ticks
}

/// The length of a tick, and the cost of reading the counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickCalibration {
    ticks_per_ns: f64,
    /// The cost of reading the counter twice with nothing in between, ticks: the median.
    empty: u64,
}

impl TickCalibration {
    /// Calibrates the counter by the system's clock, in 20 ms.
    pub(super) fn calibrated() -> Self {
        let (began, first) = (Instant::now(), ticks());
        while began.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let ticks_per_ns = (ticks() - first) as f64 / ns(began.elapsed());
        let mut empty: Vec<u64> = (0..10_001).map(|_| ticks()).collect();
        empty = empty.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        empty.sort();
        Self { ticks_per_ns, empty: empty[empty.len() / 2] }
    }

    /// Returns the time that reading the counter twice takes, nanoseconds.
    pub(super) fn own_ns(&self) -> f64 {
        self.empty as f64 / self.ticks_per_ns
    }

    /// Time between two readings without what reading takes.
    pub(super) fn ns(&self, ticks: u64) -> f64 {
        ticks.saturating_sub(self.empty) as f64 / self.ticks_per_ns
    }
}
