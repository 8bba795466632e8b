//! The known answers of the windows that end at one time.

use crate::node::ControlledNode;
use equery::Chain;
use events::{ALL_NODES, Member, ObservedWindow, QueryRun, QueryWindow};
use model::{Answer, Span};
use std::collections::{BTreeSet, HashMap};

/// The answers of the windows that end at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndedAnswers {
    /// The answers by query and node: of nodes, of all nodes together ([`ALL_NODES`]), and of derived queries.
    pub(crate) answers: HashMap<(usize, usize), Vec<Answer>>,
    /// Derived queries and nodes whose sources had no packets.
    pub(crate) derived_empty: BTreeSet<(usize, usize)>,
}

/// The windows that end at one time, and where they come from.
#[derive(Clone, Copy)]
pub(crate) struct EndedWindows<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) nodes: &'a [ControlledNode],
    pub(crate) inputs: &'a EndedAnswers,
    pub(crate) is_replay: bool,
}

impl<'a> EndedWindows<'a> {
    /// Returns what is known of a window.
    pub(crate) fn seen(&self, asked: QueryWindow<'_>) -> ObservedWindow<'a> {
        let QueryWindow { query, node, instance, window } = asked;
        match self.answer(query, node, instance, window) {
            Some(answer) => ObservedWindow::Answer(answer),
            None if self.is_empty(query, node, window) => ObservedWindow::Empty,
            None => ObservedWindow::Missing,
        }
    }

    /// The answer of an instance of a query.
    pub(crate) fn answer(
        &self,
        query: usize,
        node: usize,
        instance: &[Member],
        window: Span,
    ) -> Option<&'a Answer> {
        let mut answers = self.inputs.answers.get(&(query, node)).into_iter().flatten();
        answers.find(|answer| answer.window == Some(window) && is_of(answer, instance))
    }

    fn is_empty(&self, query: usize, node: usize, window: Span) -> bool {
        match node {
            node if self.chain.derivations[query].is_some() => {
                self.inputs.derived_empty.contains(&(query, node))
            }
            ALL_NODES => self.chain.nodes[query].iter().all(|node| self.was_empty(*node, window)),
            node => self.was_empty(node, window),
        }
    }

    /// Returns true if a node watched the whole window and received nothing.
    pub(crate) fn was_empty(&self, node: usize, window: Span) -> bool {
        let node = &self.nodes[node];
        if self.is_replay { node.had_no_packets(window) } else { node.was_empty(window) }
    }
}

/// Returns true if an answer is of this instance of its query.
pub(crate) fn is_of(answer: &Answer, instance: &[Member]) -> bool {
    answer.bound.iter().map(|item| Member::from(&item.value)).eq(instance.iter().cloned())
}

/// Returns what of a query is asked in the window that ends then: `None` of one that starts by itself, or the runs of one that is started. A
/// node answers windows too that began before the run, and those up to its next packet, whenever the run ends.
pub(crate) fn asked<'r>(
    chain: &Chain,
    runs: &'r [QueryRun],
    query: usize,
    end_ns: u64,
) -> Vec<Option<&'r QueryRun>> {
    let of = &chain.graph.queries[query];
    if !end_ns.is_multiple_of(of.every_ns) {
        return Vec::new();
    }
    let begins = |run: &QueryRun| run.start_ns.saturating_add(of.over_ns) <= end_ns;
    let is_in =
        |run: &&QueryRun| run.query == query && !run.looks_back && begins(run) && end_ns <= run.end_ns;
    match of.trigger {
        None => vec![None],
        Some(_) => runs.iter().filter(is_in).map(Some).collect(),
    }
}
