//! What is known of the windows that end at one time.

use crate::node::Node;
use equery::Chain;
use events::{ALL_NODES, Seen};
use report::{Answer, Span};
use std::collections::{BTreeSet, HashMap};

/// The windows that are being settled.
pub(crate) struct Ended<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) nodes: &'a [Node],
    /// Answers, by query and node.
    pub(crate) settling: &'a HashMap<(usize, usize), Vec<Answer>>,
    /// Derived queries and nodes whose sources had no packets.
    pub(crate) derived_empty: &'a BTreeSet<(usize, usize)>,
    pub(crate) is_replay: bool,
}

impl<'a> Ended<'a> {
    /// What is known of a query's window on a node.
    pub(crate) fn seen(&self, query: usize, node: usize, window: Span) -> Seen<'a> {
        let mut answers = self.settling.get(&(query, node)).into_iter().flatten();
        match answers.find(|answer| answer.window == Some(window)) {
            Some(answer) => Seen::Answer(answer),
            None if self.is_empty(query, node, window) => Seen::Empty,
            None => Seen::Missing,
        }
    }

    fn is_empty(&self, query: usize, node: usize, window: Span) -> bool {
        let was_empty = |node: usize| was_empty(&self.nodes[node], window, self.is_replay);
        match node {
            node if self.chain.derivations[query].is_some() => self.derived_empty.contains(&(query, node)),
            ALL_NODES => self.chain.nodes[query].iter().all(|node| was_empty(*node)),
            node => was_empty(node),
        }
    }
}

/// Whether a node watched the whole window and received nothing.
pub(crate) fn was_empty(node: &Node, window: Span, is_replay: bool) -> bool {
    if is_replay { node.had_no_packets(window) } else { node.was_empty(window) }
}
