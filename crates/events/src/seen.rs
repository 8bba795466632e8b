//! What is known of a window.

use crate::key::Member;
use model::{Answer, Span};

/// What is known of a query's window on one node.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// Nothing: the node was not there, or its answer did not come.
    Missing,
    /// The window was watched, and had no packets.
    Empty,
    /// The answer.
    Answer(&'a Answer),
}

/// A window of a query.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The query, by number.
    pub query: usize,
    /// The node, by number.
    pub node: usize,
    /// What is pinned, where the query has instances.
    pub instance: &'a [Member],
    /// The window.
    pub window: Span,
}

/// Where answers are found.
pub type Find<'a> = dyn Fn(Asked<'_>) -> Seen<'a> + 'a;
