//! Values that packets and records did not tell, and the answers that depend on them.

use super::plan::Plan;
use crate::query::{Aggregate, Grouping};
use flow::Untold;
use model::Answer;
use packet::KeySpec;

impl Plan {
    /// Returns the numbers that matter to its answers; the others are 0.
    pub(crate) fn untold(&self, untold: &Untold) -> Untold {
        if untold.is_none() {
            return *untold;
        }
        let fields = self.query.fields();
        let key: Vec<&str> = if self.is_of_flows() { self.key.columns().collect() } else { Vec::new() };
        untold.of(|field| fields.contains(field), &key, self.query.loss_field().is_some())
    }

    /// Makes an answer of the plan partial where what packets and records did not tell matters to it.
    pub(crate) fn tell_untold(&self, untold: &Untold, answer: &mut Answer) {
        answer.lacks_untold(&self.untold(untold));
    }

    /// Returns whether its answer depends on which packets are one flow.
    fn is_of_flows(&self) -> bool {
        let counts = |aggregate: &&Aggregate| matches!(aggregate, Aggregate::Count);
        let is_by_packets = !self.changing.is_empty();
        self.query.group == Grouping::Flows
            || self.query.aggregates().iter().any(counts)
            || self.merges && !is_by_packets
    }
}

/// Returns the numbers that matter to sums of packets and bytes and to the number of flows of such keys; the others are 0.
pub(crate) fn untold_of_totals(untold: &Untold, key: &KeySpec) -> Untold {
    untold.of(
        |field| matches!(field, "total_count" | "total_byte"),
        &key.columns().collect::<Vec<_>>(),
        false,
    )
}
