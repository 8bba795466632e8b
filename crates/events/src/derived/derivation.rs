//! A query whose answers are computed of those of others.

use crate::condition::TriggerCondition;
use crate::derived::formula::{Formula, ReadWindows};
use crate::graph::{Graph, GraphQuery};
use std::collections::BTreeSet;

/// The way in which the answers of a query follow from those of others, window by window.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivation {
    /// The queries that it reads: earlier ones, with windows like its own, which nothing starts.
    pub sources: Vec<DerivationSource>,
    /// The formulas of its columns, then of whatever else `having` and the order read.
    pub values: Vec<Formula>,
    /// Groups that are in the answer, by the numbers of values; `None` for all.
    pub having: Option<TriggerCondition>,
    /// The values that groups are ordered by, the first before the second. Equal ones are in the order of their keys.
    pub order: Vec<ValueOrder>,
    /// The most groups in an answer.
    pub limit: usize,
}

/// A query that another one reads.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivationSource {
    /// The number of the query.
    pub query: usize,
    /// The name of the query, unless it is a part of the query that reads it.
    pub name: Option<String>,
    /// The node whose answers are read, or all together; `None` for the node that the answer is of.
    pub node: Option<usize>,
    /// The number of the same member of the source's own key, by member of the derived query's key.
    pub key: Vec<usize>,
}

/// A value that groups are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueOrder {
    /// The number of the value.
    pub value: usize,
    /// True if the largest is first. Nulls are last in either direction.
    pub descending: bool,
}

impl DerivationSource {
    /// The node whose answers are read for an answer of this one.
    pub(crate) fn on(&self, node: usize) -> usize {
        self.node.unwrap_or(node)
    }
}

impl Derivation {
    /// The numbers of values that are computed of what different nodes counted. Each node cuts its windows by its own clock, and packets are
    /// under way between nodes when a window ends: nothing bounds what that makes of such a value.
    pub fn mixed(&self) -> Vec<usize> {
        let nodes: Vec<Option<usize>> = self.sources.iter().map(|source| source.node).collect();
        let values = self.values.iter().enumerate();
        values.filter(|(_, value)| value.mixes(&nodes)).map(|(number, _)| number).collect()
    }

    /// The numbers of values that compare moments of different nodes, each with these nodes: how far their clocks differ is in such a value.
    pub(crate) fn clocks(&self, graph: &Graph) -> Vec<(usize, BTreeSet<Option<usize>>)> {
        let sources: Vec<&GraphQuery> =
            self.sources.iter().map(|source| &graph.queries[source.query]).collect();
        let nodes: Vec<Option<usize>> = self.sources.iter().map(|source| source.node).collect();
        let values = self.values.iter().enumerate();
        let clocks = values.map(|(number, value)| (number, value.clocks(&sources, &nodes)));
        clocks.filter(|(_, clocks)| clocks.len() > 1).collect()
    }

    /// The windows that it reads.
    pub(crate) fn reads(&self) -> Vec<ReadWindows> {
        let mut reads = Vec::new();
        self.values.iter().for_each(|value| value.add_reads(&mut reads));
        reads
    }
}
