//! The counts of events.

use model::EventKind;
use std::collections::BTreeMap;

/// Events since the start, by query and kind.
pub(crate) type EventCounts = BTreeMap<(String, &'static str), u64>;

/// Counts from zero what a triggered query may do, so that the first firing is an increase.
pub(crate) fn expect_events(counts: &mut EventCounts, query: &str) {
    for kind in [EventKind::Fired, EventKind::Resolved] {
        counts.entry((query.to_owned(), kind.name())).or_default();
    }
}
