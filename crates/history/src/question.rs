//! The questions that are asked of recorded flows.

use arena::Limits;
use geo::Databases;
use model::Span;
use packet::Seed;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use task::query::Query;

/// A function that tells whether a query runs on a node; `None` is a node whose name is not known.
pub type RunsOn = dyn Fn(Option<&str>) -> bool;

/// A query over recorded flows.
#[derive(Clone)]
pub struct Question {
    /// The query: over all rows ([`task::query::Over::Run`]) or windows of its own.
    pub query: Query,
    /// The time that it reads; `None` for all.
    pub period: Option<Period>,
    /// The nodes that it runs on.
    pub runs_on: Rc<RunsOn>,
}

impl Question {
    /// The question about some nodes and a time.
    pub(crate) fn part(&self, nodes: &BTreeSet<String>, period: Period) -> Self {
        let (of_all, nodes) = (Rc::clone(&self.runs_on), nodes.clone());
        let runs_on = move |node: Option<&str>| node.is_some_and(|node| nodes.contains(node)) && of_all(node);
        Self { query: self.query.clone(), period: Some(period), runs_on: Rc::new(runs_on) }
    }
}

/// A time, nanoseconds since the epoch: rows that count in it are read. By default it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Period {
    /// The begin of the time.
    pub from_ns: u64,
    /// The end of the time, which belongs to the next one.
    pub to_ns: u64,
}

impl Period {
    /// The period of all time.
    pub const ALL: Self = Self { from_ns: 0, to_ns: u64::MAX };

    /// The time that both have, which may be none.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        let from_ns = self.from_ns.max(other.from_ns);
        Self { from_ns, to_ns: self.to_ns.min(other.to_ns).max(from_ns) }
    }

    /// Returns true if the period has no time.
    pub fn is_empty(self) -> bool {
        self.from_ns >= self.to_ns
    }

    /// Returns whether a part of the span lies outside of the period.
    pub fn cuts(self, span: Span) -> bool {
        span.start_ns < self.from_ns || span.end_ns > self.to_ns
    }

    /// Returns true if a time is in the period.
    pub fn contains(&self, time_ns: u64) -> bool {
        (self.from_ns..self.to_ns).contains(&time_ns)
    }
}

/// The settings by which questions are answered.
#[derive(Clone, Debug)]
pub struct AnswerSetting {
    /// The limits of the memory of groups and merged rows.
    pub limits: Limits,
    /// The seed of the tables' hash.
    pub seed: Seed,
    /// The databases in which autonomous systems and countries are found.
    pub geo: Option<Arc<Databases>>,
}

/// The reason why nothing is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionError {
    /// Queries that the rows cannot answer: name and reason.
    Queries(Vec<(String, String)>),
    /// Files that lack columns, a line each.
    Files(Vec<String>),
    /// The manifest of a store cannot be read any more, in one line.
    Store(String),
}
