//! What is known of a window.

use report::{Answer, Span};

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

/// Where answers are found: of a query, on a node, of a window.
pub type Find<'a> = dyn Fn(usize, usize, Span) -> Seen<'a> + 'a;
