//! The timeouts of flow records.

use crate::entry::{Hot, LATEST_COARSE, coarse};
use flow::EndReason;
use packet::Key;

/// The timeouts by which a flow record ends; `u64::MAX` is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The idle timeout: the longest time without a packet, in nanoseconds (RFC 5470, section 5.1.1).
    pub idle_ns: u64,
    /// The active timeout: the age from which on a record ends, in nanoseconds.
    pub active_ns: u64,
}

/// Half a minute of silence, or half an hour.
impl Default for Timeouts {
    fn default() -> Self {
        Self { idle_ns: 30_000_000_000, active_ns: 1_800_000_000_000 }
    }
}

impl Timeouts {
    /// The reason to end a flow at `now`, if any. If both timeouts have passed, the one that was due first:
    /// the reason does not depend on when the flow is checked.
    #[inline]
    pub(crate) fn due(&self, now: u64, stime: u64, ltime: u64) -> Option<EndReason> {
        let is_idle = now.saturating_sub(ltime) > self.idle_ns;
        let is_aged = self.active_ns != u64::MAX && now.saturating_sub(stime) >= self.active_ns;
        match (is_idle, is_aged) {
            (false, false) => None,
            (true, true) if stime.saturating_add(self.active_ns) > ltime.saturating_add(self.idle_ns) => {
                Some(EndReason::Idle)
            }
            (_, true) => Some(EndReason::Active),
            (true, false) => Some(EndReason::Idle),
        }
    }

    /// True where no record ends by time.
    pub(crate) fn are_off(&self) -> bool {
        (self.idle_ns, self.active_ns) == (u64::MAX, u64::MAX)
    }

    /// Returns the flows that may be [due](Timeouts::due) at `now` or before.
    pub(crate) fn stale_at(&self, now: u64) -> Stale {
        let ltime_before = now.saturating_sub(self.idle_ns);
        // Starts this late cannot be distinguished: each is checked.
        let start_before = match coarse(now) {
            LATEST_COARSE => u32::MAX,
            now => (u64::from(now) + 1).saturating_sub(self.active_ns >> 30) as u32,
        };
        Stale { ltime_before, start_before }
    }
}

/// Flows that may be past a timeout, judged by a hot line alone: all that are, and some that soon are. Two
/// comparisons a packet, as their operands are computed once for many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stale {
    ltime_before: u64,
    /// The earliest start that is not stale, in the unit of [`coarse`].
    start_before: u32,
}

impl Stale {
    /// True for a flow with this latest packet and this start.
    #[inline(always)]
    pub(crate) fn has(self, ltime: u64, start_coarse: u32) -> bool {
        (ltime < self.ltime_before) | (start_coarse < self.start_before)
    }

    /// True for a record that may be due, as far as its hot line tells.
    #[inline(always)]
    pub(crate) fn may_be_due<K: Key>(self, hot: &Hot<K>) -> bool {
        hot.is_live() && (self.has(hot.arrived, hot.start_coarse) | hot.is_out_of_order())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Times near each other, near zero, near the end of coarse times and near the end of all.
    fn times() -> impl Strategy<Value = u64> {
        let near = |at: u64| (0u64..20 << 30).prop_map(move |by| at.saturating_add(by));
        prop_oneof![
            near(0),
            near(1 << 60),
            near(u64::from(LATEST_COARSE - 10) << 30),
            near(u64::MAX - (10 << 30))
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

        #[test]
        fn whoever_is_due_is_stale(
            idle in prop_oneof![Just(0), Just(u64::MAX), 0u64..20 << 30],
            active in prop_oneof![Just(0), Just(u64::MAX), 0u64..20 << 30],
            mut flow in (times(), times(), times(), times()),
        ) {
            let timeouts = Timeouts { idle_ns: idle, active_ns: active };
            // A table passes a time that is not before any packet, and not after the one in question.
            let mut sorted = [flow.0, flow.1, flow.2, flow.3];
            sorted.sort();
            flow = sorted.into();
            let (stime, ltime, now, asked) = flow;
            if timeouts.due(now, stime, ltime).is_some() {
                prop_assert!(timeouts.stale_at(asked).has(ltime, coarse(stime)));
            }
        }
    }

    #[test]
    fn a_young_flow_is_not_stale() {
        let timeouts = Timeouts { idle_ns: 15 << 30, active_ns: 60 << 30 };
        let stale = timeouts.stale_at(100 << 30);
        assert!(!stale.has(90 << 30, coarse(42 << 30)));
        assert!(stale.has(84 << 30, coarse(42 << 30)), "idle");
        assert!(stale.has(90 << 30, coarse(40 << 30)), "active");
        let never = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
        assert!(!never.stale_at(100 << 30).has(0, 0));
    }
}
