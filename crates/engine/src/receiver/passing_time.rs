//! The time that a receiver spends on passing packets on, for benches.

use crate::steps::{StepTiming, Stopwatch};
use std::time::Duration;

/// The time of passing packets on; zero if it is not measured.
#[derive(Debug)]
pub(super) struct PassingTime {
    stopwatch: Stopwatch,
    /// Packets that were passed on, and those of them whose passing was timed; zero if it is not measured.
    packets: u64,
    timed_packets: u64,
    /// Time that passing on took.
    count: Duration,
    /// The part of the time of passing on, and of noting it, that lay between bursts.
    between: Duration,
}

impl PassingTime {
    /// The time before anything is passed on.
    pub(super) fn new(timing: StepTiming) -> Self {
        Self {
            stopwatch: Stopwatch::new(timing),
            packets: 0,
            timed_packets: 0,
            count: Duration::ZERO,
            between: Duration::ZERO,
        }
    }

    /// Times what is passed on from here on, or does not.
    pub(super) fn follow(&mut self, is_timed: bool) {
        self.stopwatch.follow(is_timed);
    }

    /// Passes this many packets on by `count`, and notes the time that it takes.
    #[inline(always)]
    pub(super) fn note(&mut self, packets: usize, count: impl FnOnce()) {
        if self.stopwatch.is_on() {
            self.packets += packets as u64;
            self.timed_packets += if self.stopwatch.is_running() { packets as u64 } else { 0 };
        }
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

    /// Time that passing on took of all packets, and the time of passing on and noting it that lay within timed bursts.
    pub(super) fn count_and_within(&self) -> (Duration, Duration) {
        let Self { stopwatch, packets, timed_packets, .. } = *self;
        (stopwatch.scale(self.count, packets, timed_packets), self.total() - self.between)
    }

    /// The time of the clock readings.
    pub(super) fn readings(&self) -> Duration {
        self.stopwatch.spent()
    }
}
