//! The clock of a live receiver, and what is to be done where it went on for longer between two rounds than a round takes: the process was
//! stopped, its thread waited for a core, the machine slept, or the clock was set.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The least time between two rounds of polls that is no round: frames that wait behind it have arrived in windows that are over.
const LONGEST_ROUND: Duration = Duration::from_millis(200);
/// A receiver that follows the times of its frames has caught up when they are this close to the clock.
const CAUGHT_UP_NS: u64 = 50_000_000;

/// The step of a clock between two rounds of polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// The step is no longer than a round takes.
    Round,
    /// The step of a clock in a time of this many nanoseconds in which nothing was polled.
    Held(u64),
    /// The step of a clock that was set forward by this many nanoseconds.
    Set(u64),
}

/// Reads the machine's clock once a round.
#[derive(Debug)]
pub(crate) struct LiveClock {
    /// The clock's time in the round before; `None` in the first.
    last_ns: Option<u64>,
    /// The times of both of the machine's clocks at one moment, not long ago: only one of the clocks is ever set.
    noted: (u64, Instant),
}

impl LiveClock {
    pub(crate) fn new() -> Self {
        Self { last_ns: None, noted: (clock_ns(), Instant::now()) }
    }

    /// Notes both clocks. Called now and then, since they drift apart.
    pub(crate) fn note(&mut self, now: Instant) {
        self.noted = (clock_ns(), now);
    }

    /// Returns the clock's time, and how it went on since the round before.
    pub(crate) fn next(&mut self) -> (u64, Passage) {
        let now = clock_ns();
        let went_on_ns = now.saturating_sub(self.last_ns.replace(now).unwrap_or(now));
        if went_on_ns < nanoseconds(LONGEST_ROUND) {
            return (now, Passage::Round);
        }
        let (noted_ns, noted) = std::mem::replace(&mut self.noted, (now, Instant::now()));
        (now, passage(went_on_ns, now.saturating_sub(noted_ns), self.noted.1 - noted))
    }
}

/// Returns what a step of `went_on_ns` was. It ends a time that is `noted_ns` long by the clock that can be set, and `passed` by the one that cannot.
fn passage(went_on_ns: u64, noted_ns: u64, passed: Duration) -> Passage {
    match noted_ns.saturating_sub(nanoseconds(passed)) {
        set_ns if set_ns >= nanoseconds(LONGEST_ROUND) => Passage::Set(set_ns),
        _ => Passage::Held(went_on_ns),
    }
}

/// Returns whether a receiver whose last frame arrived at `frame_ns` has caught up with the clock.
pub(crate) fn has_caught_up(frame_ns: u64, clock_ns: u64) -> bool {
    frame_ns.saturating_add(CAUGHT_UP_NS) >= clock_ns
}

/// Nanoseconds since the epoch by the machine's clock.
pub(crate) fn clock_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanoseconds)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_told_from_a_receiver_that_did_not_run() {
        const SECOND: u64 = 1_000_000_000;
        let passed = |seconds| Duration::from_secs(seconds);
        assert_eq!(passage(5 * SECOND, 6 * SECOND, passed(6)), Passage::Held(5 * SECOND));
        assert_eq!(passage(5 * SECOND, 6 * SECOND, passed(1)), Passage::Set(5 * SECOND));
        // It was set back while nothing ran, by less than it went on.
        assert_eq!(passage(5 * SECOND, 6 * SECOND, passed(9)), Passage::Held(5 * SECOND));
    }

    #[test]
    fn a_clock_that_was_set_back_has_not_gone_on() {
        let mut clock = LiveClock::new();
        let (now, _) = clock.next();
        clock.last_ns = Some(now + 3_600_000_000_000);
        assert_eq!(clock.next().1, Passage::Round);
    }
}
