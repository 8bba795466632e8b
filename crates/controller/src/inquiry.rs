//! A question to the stores of nodes, and what they have answered.

use model::{Answer, Column, HistoryNode, Span};
use protocol::{HistoryLimits, HistoryTask};
use std::collections::BTreeMap;
use task::query::{Across, Query};
use task::rows::Merging;

/// A question to the stores of nodes.
#[derive(Clone, Debug)]
pub struct HistoryRequest {
    /// The queries, whose names differ.
    pub queries: Vec<HistoryQuery>,
    /// The memory that each node may take, bytes.
    pub memory_bytes: u64,
    /// The time that each node has, milliseconds.
    pub time_ms: u64,
}

/// A query over history.
#[derive(Clone, Debug)]
pub struct HistoryQuery {
    /// The query: over all rows, or windows of its own.
    pub query: Query,
    /// The time that it reads; `None` for all.
    pub period: Option<Span>,
    /// The numbers of the nodes that it runs on.
    pub nodes: Vec<usize>,
    /// The columns of the query's answers.
    pub columns: Vec<Column>,
    /// The merging of the nodes' answers into one, of a query across nodes.
    pub merging: Option<Merging>,
}

impl HistoryQuery {
    /// A query that runs on these nodes, whose keys have these fields. `across`: how their answers become one, of one across nodes.
    ///
    /// # Errors
    /// Returns why the query cannot be answered.
    pub fn new(
        query: Query,
        across: Option<Across>,
        period: Option<Span>,
        nodes: Vec<usize>,
        key: &[String],
    ) -> Result<Self, Vec<String>> {
        let columns = equery::answer_columns(&query, Some(key))?;
        let merging = across.map(|by| equery::merging(&query, by, Some(key))).transpose()?;
        Ok(Self { query, period, nodes, columns, merging })
    }
}

/// The answers of all nodes to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryResult {
    /// The number of the question.
    pub id: u64,
    /// The answers, query by query and by time.
    pub answers: Vec<Answer>,
    /// The nodes that were asked.
    pub nodes: Vec<HistoryNode>,
}

/// The reason why nothing is asked, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAsked {
    /// The controller is answering as many questions as are possible at once.
    Busy(String),
    /// The question runs on no node of the controller.
    NoNode(String),
}

/// A question that is being answered.
#[derive(Clone, Debug)]
pub(crate) struct Inquiry {
    /// The epoch and the number of the question's tasks.
    pub(crate) key: (u64, u64),
    pub(crate) queries: Vec<HistoryQuery>,
    pub(crate) limits: HistoryLimits,
    /// The answers of each node, by its number; `None` while it is awaited.
    pub(crate) said: BTreeMap<usize, Option<NodeReply>>,
}

/// The answers of a node, and why some are missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeReply {
    pub(crate) answers: Vec<Answer>,
    pub(crate) missing: Option<String>,
}

impl Inquiry {
    pub(crate) fn is_done(&self) -> bool {
        self.said.values().all(Option::is_some)
    }

    pub(crate) fn awaits(&self, node: usize) -> bool {
        self.said.get(&node).is_some_and(Option::is_none)
    }

    /// The task of a node.
    pub(crate) fn task(&self, node: usize) -> HistoryTask {
        let own = self.queries.iter().filter(|query| query.nodes.contains(&node));
        let (epoch, id) = self.key;
        HistoryTask { epoch, id, questions: own.map(HistoryQuery::question).collect(), limits: self.limits }
    }
}
