//! The times that the rows of nodes cover.

use model::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time of each node that was watched, from its first packet to its last where that is not known.
///
/// Nodes that measured at different times have rates of their own times: a node that has ended does not count as one without packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSpans(BTreeMap<Option<Arc<str>>, Span>);

impl NodeSpans {
    /// Adds a time of a node; `None`: rows of the time are of nodes that are not known as yet.
    pub(crate) fn add(&mut self, node: Option<Arc<str>>, span: Span) {
        self.0.entry(node).and_modify(|known| *known = union(*known, span)).or_insert(span);
    }

    /// The time of all nodes; `None` without any.
    pub fn all(&self) -> Option<Span> {
        self.0.values().copied().reduce(union)
    }

    /// The time of a node; `None` if it has none. It is that of all where it is not known which node some of them are of.
    pub(crate) fn get(&self, node: &Option<Arc<str>>) -> Option<Span> {
        if self.0.contains_key(&None) { self.all() } else { self.0.get(node).copied() }
    }

    /// The times, each changed by a function.
    pub(crate) fn map(self, change: impl Fn(Span) -> Span) -> Self {
        Self(self.0.into_iter().map(|(node, span)| (node, change(span))).collect())
    }
}

/// The time from the begin of the earlier of two times to the end of the later.
pub(crate) fn union(one: Span, other: Span) -> Span {
    Span { start_ns: one.start_ns.min(other.start_ns), end_ns: one.end_ns.max(other.end_ns) }
}
