//! The time up to which nodes are awaited.

/// The longest time that the others wait for a node that sends what it kept, nanoseconds: ten minutes, however old that is.
const CATCH_UP_NS: u64 = 600_000_000_000;

/// The longest time that a node takes to come back once messages can come, nanoseconds: three times the longest pause between its attempts.
const RETURN_NS: u64 = 15_000_000_000;

/// The time that each node adds to [`RETURN_NS`], nanoseconds: all come back at once, and a thousand connect over TLS in 8 to 20 s.
const RETURN_OF_NODE_NS: u64 = 20_000_000;

/// Returns how long this number of nodes may take to connect again after the broker is back, nanoseconds.
pub const fn return_ns(nodes: usize) -> u64 {
    RETURN_NS + nodes as u64 * RETURN_OF_NODE_NS
}

/// A window that ends later than this after now is of a wrong clock, nanoseconds.
pub(crate) const MOST_AHEAD_NS: u64 = 60_000_000_000;

/// The controller's clock, as its caller tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControllerClock {
    pub(crate) now_ns: u64,
    /// The time since which messages can come; `None` while they cannot.
    pub(crate) listens_since_ns: Option<u64>,
    /// The number of nodes.
    pub(crate) nodes: usize,
}

/// The times at which a node last sent what could be taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeActivity {
    /// The time at which a window of the node was taken last.
    taken_ns: Option<u64>,
    /// The time since which the node's windows are old ones.
    behind_since_ns: Option<u64>,
}

impl NodeActivity {
    /// A window that ends then is taken.
    pub(crate) fn take(&mut self, end_ns: u64, now_ns: u64) {
        self.taken_ns = Some(now_ns);
        let is_old = end_ns.saturating_add(RETURN_NS) < now_ns;
        self.behind_since_ns = is_old.then(|| self.behind_since_ns.unwrap_or(now_ns));
    }
}

impl ControllerClock {
    /// Returns the time up to which answers of a node are not awaited any more, if it was silent for the grace. A node that sends what it has
    /// kept is given time, and so is one that may not know yet that messages can come. While none can, all wait.
    pub(crate) fn waits_until(&self, node: &NodeActivity, grace_ns: u64) -> Option<u64> {
        let since = self.listens_since_ns?;
        let (silent_since, allowed_ns) = match node.taken_ns {
            Some(taken) if taken >= since => (taken, grace_ns),
            _ => (since, grace_ns.max(return_ns(self.nodes))),
        };
        let has_waited = |since: u64, allowed_ns: u64| self.now_ns.saturating_sub(since) >= allowed_ns;
        let is_slow = node.behind_since_ns.is_some_and(|behind| has_waited(behind.max(since), CATCH_UP_NS));
        (has_waited(silent_since, allowed_ns) || is_slow).then(|| self.now_ns.saturating_sub(grace_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const NOW: u64 = 10_000 * SECOND;

    fn waits(listens_since_ns: Option<u64>, node: &NodeActivity) -> Option<u64> {
        ControllerClock { now_ns: NOW, listens_since_ns, nodes: 2 }.waits_until(node, SECOND)
    }

    #[test]
    fn a_silent_node_is_not_awaited() {
        let taken = |taken_ns| NodeActivity { taken_ns, behind_since_ns: None };
        assert_eq!(waits(None, &taken(Some(NOW))), None);
        assert_eq!(waits(Some(0), &taken(None)), Some(NOW - SECOND));
        assert_eq!(waits(Some(0), &taken(Some(NOW - SECOND))), Some(NOW - SECOND));
        assert_eq!(waits(Some(0), &taken(Some(NOW - SECOND + 1))), None);
        // The connection is new.
        for before in [None, Some(0), Some(NOW - 20 * SECOND)] {
            assert_eq!(waits(Some(NOW - 15 * SECOND), &taken(before)), None);
            assert_eq!(waits(Some(NOW - 16 * SECOND), &taken(before)), Some(NOW - SECOND));
        }
        // A thousand take longer to come back.
        let waits = |since: u64| {
            let clock =
                ControllerClock { now_ns: NOW, listens_since_ns: Some(NOW - since * SECOND), nodes: 1_000 };
            clock.waits_until(&taken(None), SECOND)
        };
        assert_eq!((waits(34), waits(35)), (None, Some(NOW - SECOND)));
    }

    #[test]
    fn a_node_that_catches_up_is_awaited_for_ten_minutes() {
        let mut node = NodeActivity::default();
        // An hour old, and sent fast.
        for at in 0..1_000 {
            node.take(NOW - 3_600 * SECOND + at * SECOND, NOW - 599 * SECOND + at);
        }
        node.take(NOW - 2_000 * SECOND, NOW);
        assert_eq!(waits(Some(0), &node), None);
        let mut slow = NodeActivity::default();
        slow.take(NOW - 3_600 * SECOND, NOW - 600 * SECOND);
        slow.take(NOW - 3_599 * SECOND, NOW);
        assert_eq!(waits(Some(0), &slow), Some(NOW - SECOND));
        // Once it has caught up, it has all the time again.
        slow.take(NOW - SECOND, NOW);
        assert_eq!(waits(Some(0), &slow), None);
    }
}
