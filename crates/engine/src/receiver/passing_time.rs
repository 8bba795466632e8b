//! The time that a receiver spends on passing packets on, for benches.

use crate::steps::Stopwatch;
use std::time::Duration;

/// The time of passing packets on; zero if it is not measured.
#[derive(Debug)]
pub(super) struct PassingTime {
    stopwatch: Stopwatch,
    /// Time that passing on took.
    count: Duration,
    /// The part of the time of passing on, and of noting it, that lay between bursts.
    between: Duration,
}

impl PassingTime {
    /// The time before anything is passed on.
    pub(super) fn new(is_timed: bool) -> Self {
        Self { stopwatch: Stopwatch::new(is_timed), count: Duration::ZERO, between: Duration::ZERO }
    }

    /// Passes packets on by `count`, and notes the time that it takes.
    #[inline(always)]
    pub(super) fn note(&mut self, count: impl FnOnce()) {
        self.stopwatch.time(&mut self.count, count);
    }

    /// Time that passing on took, and noting it.
    #[inline(always)]
    pub(super) fn total(&self) -> Duration {
        self.count + self.stopwatch.spent()
    }

    /// Notes that all since the total was this lay between bursts.
    #[inline(always)]
    pub(super) fn note_between(&mut self, before: Duration) {
        self.between += self.total() - before;
    }

    /// Time that passing on took, and the time of passing on and noting it that lay within bursts.
    pub(super) fn count_and_within(&self) -> (Duration, Duration) {
        (self.count, self.total() - self.between)
    }
}
