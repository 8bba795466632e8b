//! Times in which a triggered query is measured.

use crate::key::EventKey;
use serde::{Deserialize, Serialize};

/// A query that others started runs from `start_ns` to `end_ns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryRun {
    /// The query, by number.
    pub query: usize,
    /// The begin of its first window.
    pub start_ns: u64,
    /// The end of its last one.
    pub end_ns: u64,
    /// The event that started it, which names the run.
    pub cause: String,
    /// The values that the firing pinned, in the order of the query's bindings of fields; none of a query without any.
    #[serde(default)]
    pub instance: EventKey,
    /// The node that the firing pinned.
    #[serde(default)]
    pub node: Option<usize>,
    /// The first event of the chain.
    pub root: String,
    /// The time of that event, nanoseconds since the epoch.
    pub begun_ns: u64,
    /// True if it answers the window that ends at `end_ns` from what nodes have kept, and goes on for as long as a condition holds.
    pub looks_back: bool,
    /// Nodes whose answers are missing.
    pub missing: Vec<usize>,
}

impl QueryRun {
    /// Returns true if the query runs on this node.
    pub fn is_on(&self, node: usize) -> bool {
        self.node.is_none_or(|own| own == node)
    }
}
