//! Times in which a triggered query is measured.

use serde::{Deserialize, Serialize};

/// A query that others started runs from `start_ns` to `end_ns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The query, by number.
    pub query: usize,
    /// The begin of its first window.
    pub start_ns: u64,
    /// The end of its last one.
    pub end_ns: u64,
    /// The event that started it, which names the run.
    pub cause: String,
    /// Nodes whose answers are missing.
    pub missing: Vec<usize>,
}
