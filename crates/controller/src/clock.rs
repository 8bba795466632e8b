//! Up to when nodes are awaited.

/// How far a node may be behind before the others do not wait for it any more, nanoseconds: ten minutes.
const MOST_BEHIND_NS: u64 = 600_000_000_000;

/// How long a node may take to come back once messages can come, nanoseconds: three times the longest pause between its attempts.
const RETURN_NS: u64 = 15_000_000_000;

/// A window that ends later than this after now is of a wrong clock, nanoseconds.
pub(crate) const MOST_AHEAD_NS: u64 = 60_000_000_000;

/// The controller's clock, as its caller tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now_ns: u64,
    /// Since when messages can come; `None` while they cannot.
    pub(crate) listens_since_ns: Option<u64>,
}

impl Clock {
    /// Up to when answers of a node are not awaited any more: those of a node that was silent for the grace. One that sends what it
    /// has kept is given time, and so is one that may not know yet that messages can come. While none can, all wait.
    pub(crate) fn waits_until(&self, heard_ns: Option<u64>, grace_ns: u64) -> Option<u64> {
        let since = self.listens_since_ns?;
        let (silent_since, allowed_ns) = match heard_ns {
            Some(heard) if heard >= since => (heard, grace_ns),
            _ => (since, grace_ns.max(RETURN_NS)),
        };
        let is_silent = self.now_ns.saturating_sub(silent_since) >= allowed_ns;
        let patience = if is_silent { grace_ns } else { MOST_BEHIND_NS };
        Some(self.now_ns.saturating_sub(patience))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_node_is_not_awaited() {
        let clock = |now_ns, listens_since_ns| Clock { now_ns, listens_since_ns };
        let second = 1_000_000_000;
        let now = 10_000 * second;
        assert_eq!(clock(now, None).waits_until(Some(now), second), None);
        assert_eq!(clock(now, Some(0)).waits_until(None, second), Some(now - second));
        assert_eq!(clock(now, Some(0)).waits_until(Some(now - second), second), Some(now - second));
        // It sends what it kept, or the connection is new.
        let recent = Some(now - MOST_BEHIND_NS);
        assert_eq!(clock(now, Some(0)).waits_until(Some(now - second + 1), second), recent);
        for heard in [None, Some(0), Some(now - 20 * second)] {
            assert_eq!(clock(now, Some(now - 14 * second)).waits_until(heard, second), recent);
            assert_eq!(clock(now, Some(now - 15 * second)).waits_until(heard, second), Some(now - second));
        }
    }
}
