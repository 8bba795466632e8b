//! The clock used for sending.

use std::time::{Duration, Instant};

/// A clock that can be waited for; tests have one that jumps.
pub trait SendClock {
    /// Nanoseconds since some beginning.
    fn now_ns(&self) -> u64;

    /// Waits until then, but some milliseconds at most, so that the caller can check whether to stop.
    fn wait_until(&mut self, ns: u64);
}

/// The machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemSendClock(Instant);

impl Default for SystemSendClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

/// The longest sleep.
const NAP: Duration = Duration::from_millis(5);
/// The longest delay with which the kernel may wake a thread: this rest is waited for without sleeping.
const SLACK: Duration = Duration::from_micros(150);

impl SendClock for SystemSendClock {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn wait_until(&mut self, ns: u64) {
        let left = Duration::from_nanos(ns.saturating_sub(self.now_ns()));
        if left > 2 * SLACK {
            std::thread::sleep((left - SLACK).min(NAP));
        } else {
            while self.now_ns() < ns {
                std::hint::spin_loop();
            }
        }
    }
}
