//! Windows, as far as they are known.

use crate::key::Member;
use model::{Answer, Span};

/// A query's window on one node, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub enum ObservedWindow<'a> {
    /// The answer is missing: the node was not there, or its answer did not come.
    Missing,
    /// The window was watched, and had no packets.
    Empty,
    /// The answer.
    Answer(&'a Answer),
}

/// A window of a query.
#[derive(Clone, Copy, Debug)]
pub struct QueryWindow<'a> {
    /// The query, by number.
    pub query: usize,
    /// The node, by number.
    pub node: usize,
    /// The values that are pinned, where the query has instances.
    pub instance: &'a [Member],
    /// The window.
    pub window: Span,
}

/// The function by which answers are found.
pub type Find<'a> = dyn Fn(QueryWindow<'_>) -> ObservedWindow<'a> + 'a;
