//! The wait before the next attempt to connect.

use crate::Boot;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Waits that double up to a limit, each shortened by chance: probes that lost one broker do not come back all at once.
#[derive(Debug)]
pub(super) struct BackOff {
    next: Duration,
}

impl BackOff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    /// The next wait.
    pub(super) fn wait(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(LONGEST);
        let chance = (Boot::random().0 % 1024) as f64 / 1024.0;
        wait.mul_f64(0.5 + chance / 2.0)
    }

    /// Sets the next wait to the first one, after an attempt that succeeded.
    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit() {
        let mut back_off = BackOff::new();
        let mut limit = FIRST;
        for _ in 0..20 {
            let wait = back_off.wait();
            assert!(limit / 2 <= wait && wait <= limit, "{wait:?} of {limit:?}");
            limit = (limit * 2).min(LONGEST);
        }
        back_off.reset();
        assert!(back_off.wait() <= FIRST);
    }
}
