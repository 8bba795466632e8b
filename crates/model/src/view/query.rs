//! The state of a query.

use crate::key::FlattenedKey;
use crate::{Answer, Class, Column, Integer, Item, Nullable, Time};
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// The state of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QueryState {
    /// A query that is always answered.
    #[default]
    Standing,
    /// A query that is answered when its trigger fires.
    Waiting,
    /// A query that is answered because its trigger fired.
    Running,
}

/// A query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Query"))]
pub struct QueryView {
    /// The name of the query.
    pub name: String,
    /// The query as it was written.
    pub text: String,
    /// The definitions that the text reads: `let NAME = VALUE;`.
    #[serde(default)]
    pub definitions: Vec<String>,
    /// The file that the query came in.
    pub file: Option<String>,
    /// The way in which it is executed.
    pub class: Class,
    /// The nodes that it runs on.
    pub nodes: Vec<String>,
    /// The time from one answer to the next, nanoseconds.
    #[serde(with = "Nullable::<Integer>")]
    pub every_ns: Option<u64>,
    /// The time that an answer covers, nanoseconds.
    #[serde(with = "Nullable::<Integer>")]
    pub over_ns: Option<u64>,
    /// The columns of its rows.
    pub columns: Vec<Column>,
    /// The names of those columns that are members of the key of its groups: labels of its metrics.
    ///
    /// JSON has them not.
    #[serde(skip)]
    pub key: Vec<String>,
    /// The state of the query.
    pub state: QueryState,
    /// The times in which it runs.
    pub runs: Vec<Run>,
    /// The trigger that starts it; `None` if it always runs.
    pub trigger: Option<Trigger>,
    /// True if it is exported as a metric.
    #[serde(default, skip_serializing_if = "<&bool>::not")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    pub metric: bool,
    /// The number of packets that it captures when it is started.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Nullable::<Integer>")]
    pub capture: Option<u64>,
    /// The newest answer of each node; of instances, those of the newest window.
    ///
    /// Where the list is empty, the hub fills in what was published.
    pub latest: Vec<Answer>,
}

impl QueryView {
    /// Returns true if both views are equal in everything but the latest answers.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The first instant in it.
    #[serde(rename = "start", with = "Time")]
    pub start_ns: u64,
    /// The first instant after it.
    #[serde(rename = "end", with = "Time")]
    pub end_ns: u64,
    /// The event that started it.
    pub cause: String,
}

/// The trigger of a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trigger {
    /// The query whose answers are judged.
    pub parent: String,
    /// The condition, as it was written.
    pub condition: String,
    /// The time for which the condition must have held, nanoseconds.
    #[serde(with = "Integer")]
    pub for_ns: u64,
    /// The time for which the query runs, nanoseconds; 0 for one window.
    #[serde(with = "Integer")]
    pub run_ns: u64,
    /// The time for which it stays quiet after it fired, nanoseconds.
    #[serde(with = "Integer")]
    pub cooldown_ns: u64,
    /// The condition that re-arms it, as it was written; `None` if that is the end of the condition.
    pub until: Option<String>,
    /// The comparisons of one column of the parent with a number that are the condition or part of it.
    pub thresholds: Vec<Threshold>,
    /// The numbers of keys in each phase.
    pub edges: Vec<Edge>,
    /// The keys that are not idle, 50 of all nodes at the most: those that fired first, of each phase the newest first. `edges` counts all.
    ///
    /// The most are [`MOST_KEYS`].
    #[serde(default)]
    pub keys: Vec<KeyState>,
}

/// Keys of a trigger that are listed. A query may have 65,536 of each node: `edges` counts them.
pub const MOST_KEYS: usize = 50;

/// A key that is not idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyState {
    /// The name of the node; `None` for answers across nodes.
    pub node: Option<String>,
    /// The members of the key.
    #[serde(flatten, with = "FlattenedKey")]
    pub key: Vec<Item>,
    /// The phase of the key.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("enum" = ["pending", "active", "recovering"])))]
    pub phase: Phase,
    /// The stream time since which the key is in this phase.
    #[serde(rename = "since", with = "Nullable::<Time>")]
    pub since_ns: Option<u64>,
    /// The time from which it may fire again.
    #[serde(rename = "until", with = "Nullable::<Time>")]
    pub until_ns: Option<u64>,
    /// The event that brought it there.
    pub event: Option<String>,
}

/// A comparison of a column with a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edge {
    /// The name of the node; `None` for answers across nodes.
    pub node: Option<String>,
    /// The phase.
    pub phase: Phase,
    /// The number of keys.
    #[serde(with = "Integer")]
    pub keys: u64,
    /// The stream time since which one of them is in this phase.
    #[serde(rename = "since", with = "Nullable::<Time>")]
    pub since_ns: Option<u64>,
    /// The time from which one of them may fire again.
    #[serde(rename = "until", with = "Nullable::<Time>")]
    pub until_ns: Option<u64>,
    /// The event that brought one of them there.
    pub event: Option<String>,
}

/// The state of a key of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The condition is false.
    Idle,
    /// The condition is true, not yet for long enough.
    Pending,
    /// The key fired.
    Active,
    /// The key is quiet after it fired.
    Recovering,
    /// The condition is unknown.
    NoData,
}
