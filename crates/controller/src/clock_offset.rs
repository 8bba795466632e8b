//! The offset of a node's clock from the controller's.

use std::collections::VecDeque;

/// Heartbeats that are compared, and the number from which on something is said. At most five wait at the broker, ten seconds long.
const COMPARED: usize = 8;
const LEAST: usize = 6;

/// A clock that is off by more than this is named, nanoseconds.
const MOST_OFF_NS: i64 = 1_000_000_000;

/// The offset of a node's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    /// The time by which the last heartbeats were ahead of the controller's clock when they came. Their way makes it less, never more.
    ahead_ns: VecDeque<i64>,
}

impl ClockOffset {
    /// Takes a heartbeat that was sent at `sent_ns`, by the node's clock, and comes now.
    pub(crate) fn take(&mut self, sent_ns: u64, now_ns: u64) {
        let ahead = i128::from(sent_ns) - i128::from(now_ns);
        self.ahead_ns.push_back(ahead.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        if self.ahead_ns.len() > COMPARED {
            self.ahead_ns.pop_front();
        }
    }

    /// A lower bound of the clock offset, from the heartbeats, in nanoseconds: positive if the node's clock is ahead, negative if it is behind. `None` while too few
    /// heartbeats are known to estimate it.
    pub(crate) fn ns(&self) -> Option<i64> {
        let nearest = || self.ahead_ns.iter().copied().max();
        if self.ahead_ns.len() < LEAST { None } else { nearest() }
    }

    /// Returns what is said of the clock in answers, if it is too far off.
    pub(crate) fn remark(&self, node: &str) -> Option<String> {
        let ns = self.ns().filter(|ns| ns.unsigned_abs() > MOST_OFF_NS.unsigned_abs())?;
        let (by, direction) = (ns.unsigned_abs(), if ns > 0 { "ahead" } else { "behind" });
        Some(format!(
            "the clock of {node} is {} {direction}",
            notation::how_long(by / 100_000_000 * 100_000_000)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn of(ahead: &[f64]) -> ClockOffset {
        let mut offset = ClockOffset::default();
        for (at, ahead) in ahead.iter().enumerate() {
            let now_ns = 1_000 * SECOND + at as u64 * 2 * SECOND;
            offset.take((now_ns as f64 + ahead * 1e9) as u64, now_ns);
        }
        offset
    }

    #[test]
    fn heartbeats_that_waited_say_nothing_of_the_clock() {
        // The controller was away: five waited, and come at once.
        let waited = [-10.0, -8.0, -6.0, -4.0, -2.0];
        assert_eq!(of(&waited).ns(), None);
        let then = [&waited[..], &[-0.001]].concat();
        assert_eq!(of(&then).remark("Node1"), None);
    }

    #[test]
    fn a_clock_that_is_off_is_named() {
        assert_eq!(of(&[5.0; 5]).remark("Node1"), None, "too few heartbeats");
        let ahead = of(&[4.9, 4.99, 4.95, 4.8, 4.99, 4.97]).remark("Node1");
        assert_eq!(ahead.as_deref(), Some("the clock of Node1 is 4.9 s ahead"));
        let behind = of(&[-5.1; 20]).remark("Node2");
        assert_eq!(behind.as_deref(), Some("the clock of Node2 is 5.1 s behind"));
        // Set right again: known after some heartbeats.
        assert_eq!(of(&[&[5.0; 8][..], &[0.0; 8]].concat()).remark("Node1"), None);
    }

    #[test]
    fn no_time_is_too_wrong() {
        let mut offset = ClockOffset::default();
        (0..8).for_each(|_| offset.take(u64::MAX, 0));
        assert_eq!(offset.ns(), Some(i64::MAX));
    }
}
