//! The limit of how often a node is complained of.

/// The most lines that are said of a node at once.
const MOST: u64 = 20;
/// The time after which there may be one more line, nanoseconds.
const AFTER_NS: u64 = 10_000_000_000;

/// The lines that were said of a node: one that sends what is wrong in turns fills no log.
#[derive(Debug, Default)]
pub(crate) struct NodeLogBudget {
    used: u64,
    since_ns: u64,
}

impl NodeLogBudget {
    /// Returns true if one more line may be said now.
    pub(crate) fn may(&mut self, now_ns: u64) -> bool {
        let more = now_ns.saturating_sub(self.since_ns) / AFTER_NS;
        if more > 0 {
            self.used = self.used.saturating_sub(more);
            self.since_ns = now_ns;
        }
        let may = self.used < MOST;
        self.used += u64::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_becomes_one_every_ten_seconds() {
        let mut lines = NodeLogBudget::default();
        let second = |number: u64| 1_700_000_000_000_000_000 + number * 1_000_000_000;
        let said = |lines: &mut NodeLogBudget, from: u64, to: u64| {
            (from * 100..to * 100).filter(|at| lines.may(second(0) + at * 10_000_000)).count()
        };
        assert_eq!(said(&mut lines, 0, 1), 20);
        assert_eq!(said(&mut lines, 1, 10), 0);
        assert_eq!(said(&mut lines, 10, 100), 9);
        // A clock that is set back opens nothing.
        assert!(!lines.may(second(3)));
        assert_eq!(said(&mut lines, 10_000, 10_001), 20);
    }
}
