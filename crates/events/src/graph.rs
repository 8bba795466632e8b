//! Queries and what starts them.

use crate::condition::Condition;
use crate::figure::Role;
use crate::key::Key;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The number of the node that stands for all nodes of a query together, whose answers are merged into one.
pub const ALL_NODES: usize = usize::MAX;

/// All queries of a chain, each after those that start it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The queries.
    pub queries: Vec<Query>,
    /// The names of all nodes.
    pub nodes: Vec<String>,
    /// What holds for all of them.
    pub settings: Settings,
}

/// What is configured, not written in queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How long answers of a window are awaited, nanoseconds.
    pub grace_ns: u64,
    /// A key that had no packets in this many windows is dropped.
    pub expire_windows: u64,
    /// A condition on an answer with less coverage than this is unknown.
    pub coverage: f64,
    /// Keys of one query and window that fire; those beyond are suppressed.
    pub most_firings: usize,
    /// Keys that are remembered of one query and node.
    pub most_keys: usize,
    /// The memory of answers of earlier windows that queries read, bytes.
    #[serde(default = "past_bytes")]
    pub past_bytes: u64,
}

const fn past_bytes() -> u64 {
    256 << 20
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            grace_ns: 1_000_000_000,
            expire_windows: 60,
            coverage: 0.999,
            most_firings: 64,
            most_keys: 65_536,
            past_bytes: past_bytes(),
        }
    }
}

/// A query as events see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// Its name.
    pub name: String,
    /// Its text, which tells versions of a query of one name apart.
    pub text: String,
    /// The columns of its answers.
    pub columns: Vec<Column>,
    /// Those that are the group's key.
    pub key: Vec<usize>,
    /// Time from one answer to the next, nanoseconds.
    pub every_ns: u64,
    /// The time that an answer covers.
    pub over_ns: u64,
    /// The nodes whose answers are judged, by number; [`ALL_NODES`] alone where they are merged into one.
    pub nodes: Vec<usize>,
    /// Keys that its constants pin: they are known before they have packets.
    pub pinned: BTreeSet<Key>,
    /// The column by which rows are ordered, the largest first, if they are.
    pub largest_first: Option<usize>,
    /// By column, the most that a group has that `having` leaves out of the answer; `None` if there is no `having`.
    pub left_out: Option<Vec<f64>>,
    /// What starts it; `None` if it always runs.
    pub trigger: Option<Trigger>,
}

/// A column of a query's answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name, kind and unit.
    pub column: report::Column,
    /// What it is.
    pub role: Role,
}

/// What starts a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The query whose answers are judged, by number: an earlier one.
    pub parent: usize,
    /// When it fires.
    pub condition: Condition,
    /// The same as text.
    pub text: String,
    /// How long the condition must have held, nanoseconds.
    pub hold_ns: u64,
    /// What re-arms it; `None` if that is the condition's end.
    pub until: Option<Condition>,
    /// How long it stays quiet after it fired, nanoseconds.
    pub cooldown_ns: u64,
    /// How long the query runs; 0 for one window.
    pub run_ns: u64,
}

impl Graph {
    /// The name of a node; `None` for all together.
    pub fn node_name(&self, node: usize) -> Option<&str> {
        self.nodes.get(node).map(String::as_str)
    }
}

impl Query {
    /// True if its windows end at such times.
    pub(crate) fn ends_at(&self, end_ns: u64) -> bool {
        end_ns.is_multiple_of(self.every_ns)
    }

    /// The first window that a firing at this time measures (`docs/equery.md`, rule 3): it begins once its task is on all nodes.
    pub(crate) fn first_start(&self, fired_ns: u64, settings: &Settings) -> u64 {
        // A second for the way to the nodes.
        fired_ns
            .saturating_add(settings.grace_ns)
            .saturating_add(1_000_000_000)
            .next_multiple_of(self.every_ns)
    }

    /// The end of the last window of a run whose first one begins then.
    pub(crate) fn last_end(&self, start_ns: u64) -> u64 {
        let run_ns = self.trigger.as_ref().map_or(0, |trigger| trigger.run_ns);
        let more = run_ns.div_ceil(self.every_ns).max(1) - 1;
        start_ns.saturating_add(self.over_ns).saturating_add(more.saturating_mul(self.every_ns))
    }
}
