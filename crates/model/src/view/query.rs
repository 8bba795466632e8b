//! The state of a query.

use crate::key::Key;
use crate::{Answer, Class, Column, Integer, Item, Nullable, Time};
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// Whether a query is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryState {
    /// Always.
    #[default]
    Standing,
    /// When its trigger fires.
    Waiting,
    /// Because its trigger fired.
    Running,
}

/// A query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryView {
    /// Its name.
    pub name: String,
    /// As it was written.
    pub text: String,
    /// The definitions that it reads: `let NAME = VALUE;`.
    #[serde(default)]
    pub definitions: Vec<String>,
    /// The file that it came in.
    pub file: Option<String>,
    /// How it is executed.
    pub class: Class,
    /// The nodes that it runs on.
    pub nodes: Vec<String>,
    /// Time from one answer to the next, nanoseconds.
    #[serde(with = "Nullable::<Integer>")]
    pub every_ns: Option<u64>,
    /// The time that an answer covers, nanoseconds.
    #[serde(with = "Nullable::<Integer>")]
    pub over_ns: Option<u64>,
    /// What its rows hold.
    pub columns: Vec<Column>,
    /// The names of those that are members of its groups' key: labels of its metrics. JSON has them not.
    #[serde(skip)]
    pub key: Vec<String>,
    /// Whether it is answered.
    pub state: QueryState,
    /// The times in which it runs.
    pub runs: Vec<Run>,
    /// What starts it; `None` if it always runs.
    pub trigger: Option<Trigger>,
    /// It is exported as a metric.
    #[serde(default, skip_serializing_if = "<&bool>::not")]
    pub metric: bool,
    /// How many packets it captures when it is started.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Nullable::<Integer>")]
    pub capture: Option<u64>,
    /// The newest answer of each node, of instances those of the newest window. Where the list is empty, the hub fills in what was published.
    pub latest: Vec<Answer>,
}

impl QueryView {
    /// Whether all but the latest answers is the same.
    pub fn is_as(&self, other: &Self) -> bool {
        let Self {
            name,
            text,
            definitions,
            file,
            class,
            nodes,
            every_ns,
            over_ns,
            columns,
            key,
            state,
            runs,
            trigger,
            metric,
            capture,
            latest: _,
        } = self;
        (name, text, definitions, file, class, nodes)
            == (&other.name, &other.text, &other.definitions, &other.file, &other.class, &other.nodes)
            && (every_ns, over_ns, columns, key)
                == (&other.every_ns, &other.over_ns, &other.columns, &other.key)
            && (state, runs, trigger) == (&other.state, &other.runs, &other.trigger)
            && (metric, capture) == (&other.metric, &other.capture)
    }

    /// Takes an answer that is not older than those of its node. Of instances, those of the newest window stand side by side.
    pub fn remember(&mut self, answer: &Answer) {
        // The end of a whole run is after all windows.
        let end = |answer: &Answer| answer.window.map_or(u64::MAX, |window| window.end_ns);
        // They are in the order of nodes, as the archive gives them: with a thousand nodes, looking at all of them for each answer was a third of a controller's time.
        let from = self.latest.partition_point(|latest| latest.node < answer.node);
        let to = from + self.latest[from..].partition_point(|latest| latest.node == answer.node);
        let of_node = &self.latest[from..to];
        if of_node.iter().any(|latest| end(latest) > end(answer)) {
            return;
        }
        let is_of_window = |latest: &&Answer| end(latest) == end(answer) && latest.bound != answer.bound;
        let mut stay: Vec<Answer> = of_node.iter().filter(is_of_window).cloned().collect();
        stay.push(answer.clone());
        self.latest.splice(from..to, stay);
    }
}

/// A time in which a triggered query runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its first instant, nanoseconds since the epoch.
    #[serde(rename = "start", with = "Time")]
    pub start_ns: u64,
    /// The first instant after it.
    #[serde(rename = "end", with = "Time")]
    pub end_ns: u64,
    /// The event that started it.
    pub cause: String,
}

/// What starts a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The query whose answers are judged.
    pub parent: String,
    /// When it fires, as it was written.
    pub condition: String,
    /// How long the condition must have held, nanoseconds.
    #[serde(with = "Integer")]
    pub for_ns: u64,
    /// How long the query runs; 0 for one window.
    #[serde(with = "Integer")]
    pub run_ns: u64,
    /// How long it stays quiet after it fired.
    #[serde(with = "Integer")]
    pub cooldown_ns: u64,
    /// What re-arms it, as it was written; `None` if that is the condition's end.
    pub until: Option<String>,
    /// Comparisons of one column of the parent with a number that are the condition or part of it.
    pub thresholds: Vec<Threshold>,
    /// How many keys are in which phase.
    pub edges: Vec<Edge>,
    /// Keys that are not idle, [`MOST_KEYS`] of all nodes at the most: those that fired first, of each phase the newest first.
    #[serde(default)]
    pub keys: Vec<KeyState>,
}

/// Keys of a trigger that are listed. A query may have 65,536 of each node: `edges` counts them.
pub const MOST_KEYS: usize = 50;

/// A key that is not idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyState {
    /// The node; `None` for answers across nodes.
    pub node: Option<String>,
    /// Its members.
    #[serde(flatten, with = "Key")]
    pub key: Vec<Item>,
    /// The phase.
    pub phase: Phase,
    /// Since when, stream time in nanoseconds since the epoch.
    #[serde(rename = "since", with = "Nullable::<Time>")]
    pub since_ns: Option<u64>,
    /// When it may fire again.
    #[serde(rename = "until", with = "Nullable::<Time>")]
    pub until_ns: Option<u64>,
    /// The event that brought it there.
    pub event: Option<String>,
}

/// A comparison of a column with a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The column of the parent.
    pub column: String,
    /// The operator as it was written.
    pub comparison: String,
    /// The number.
    pub value: f64,
}

/// The keys of one node that are in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The node; `None` for answers across nodes.
    pub node: Option<String>,
    /// The phase.
    pub phase: Phase,
    /// Their number.
    #[serde(with = "Integer")]
    pub keys: u64,
    /// Since when one of them is, stream time in nanoseconds since the epoch.
    #[serde(rename = "since", with = "Nullable::<Time>")]
    pub since_ns: Option<u64>,
    /// When it may fire again.
    #[serde(rename = "until", with = "Nullable::<Time>")]
    pub until_ns: Option<u64>,
    /// The event that brought it there.
    pub event: Option<String>,
}

/// The state of a key of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The condition is false.
    Idle,
    /// It is true, not yet for long enough.
    Pending,
    /// It fired.
    Active,
    /// It is quiet after it fired.
    Recovering,
    /// It is not known.
    NoData,
}
