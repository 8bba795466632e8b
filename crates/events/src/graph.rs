//! Queries and what starts them.

use crate::condition::TriggerCondition;
use crate::figure::ColumnRole;
use crate::key::{EventKey, Member};
use crate::title_form::TitleForm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The number of the node that stands for all nodes of a query together, whose answers are merged into one.
pub const ALL_NODES: usize = usize::MAX;

/// The queries of a chain, each after those that start it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The queries.
    pub queries: Vec<GraphQuery>,
    /// The names of all nodes.
    pub nodes: Vec<String>,
    /// The settings that hold for all of them.
    pub settings: EventSettings,
}

/// The settings that are configured, not written in queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventSettings {
    /// The longest time that answers of a window are awaited, nanoseconds.
    pub grace_ns: u64,
    /// The longest delay with which windows may come and still be judged, nanoseconds.
    pub lateness_ns: u64,
    /// A key that had no packets in this many windows is dropped.
    pub expire_windows: u64,
    /// A condition on an answer with less coverage than this is unknown.
    pub coverage: f64,
    /// Keys of one query and window that fire, and instances of a query at a time; those beyond are suppressed.
    pub most_firings: usize,
    /// Keys that are remembered of one query and node.
    pub most_keys: usize,
    /// Flows of each window that nodes keep for queries that answer in the window that fired.
    pub look_back_flows: u64,
    /// The memory of answers of earlier windows that queries read, bytes.
    #[serde(default = "past_bytes")]
    pub past_bytes: u64,
}

const fn past_bytes() -> u64 {
    256 << 20
}

impl Default for EventSettings {
    fn default() -> Self {
        Self {
            grace_ns: 1_000_000_000,
            lateness_ns: 600_000_000_000,
            expire_windows: 60,
            coverage: 0.999,
            most_firings: 64,
            most_keys: 65_536,
            look_back_flows: 1_000_000,
            past_bytes: past_bytes(),
        }
    }
}

/// A query as events see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphQuery {
    /// The name of the query.
    pub name: String,
    /// The text of the query, which tells versions of a query of one name apart.
    pub text: String,
    /// The columns of its answers.
    pub columns: Vec<AnswerColumn>,
    /// The columns that are the group's key, by number.
    pub key: Vec<usize>,
    /// Time from one answer to the next, nanoseconds.
    pub every_ns: u64,
    /// The time that an answer covers.
    pub over_ns: u64,
    /// The nodes whose answers are judged, by number; [`ALL_NODES`] alone where they are merged into one.
    pub nodes: Vec<usize>,
    /// Keys that its constants pin: they are known before they have packets.
    pub pinned: BTreeSet<EventKey>,
    /// The places of the members of its key in what a firing pins, if it pins each of them: an instance's key is known too.
    pub bound_key: Option<Vec<usize>>,
    /// The column by which rows are ordered, the largest first, if they are.
    pub largest_first: Option<usize>,
    /// The most that a group has that `having` leaves out of the answer, by column; `None` if there is no `having`.
    pub left_out: Option<Vec<f64>>,
    /// The trigger that starts it; `None` if it always runs.
    pub trigger: Option<QueryTrigger>,
}

/// A column of a query's answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerColumn {
    /// Name, kind and unit.
    pub column: model::Column,
    /// The role of the column.
    pub role: ColumnRole,
}

/// The way in which a condition starts a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerKind {
    /// The query starts once, when the condition becomes true.
    #[default]
    When,
    /// The query starts in each window in which the condition is true.
    Each,
    /// The query runs for as long as the condition is true: it answers in the same windows.
    While,
}

/// The trigger that starts a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryTrigger {
    /// The way in which the condition starts the query.
    pub kind: TriggerKind,
    /// The queries whose answers are judged: earlier ones. Items of conditions are numbered through the columns of all of them.
    pub sources: Vec<TriggerSource>,
    /// The places where they are judged.
    pub places: Vec<EvaluationPoint>,
    /// The condition on which it fires.
    pub condition: TriggerCondition,
    /// The condition as text.
    pub text: String,
    /// The form of the titles of its firings.
    #[serde(default)]
    pub title: TitleForm,
    /// The time for which the condition must have held, nanoseconds.
    pub hold_ns: u64,
    /// The condition that re-arms it; `None` if that is the condition's end.
    pub until: Option<TriggerCondition>,
    /// The time for which it stays quiet after it fired, nanoseconds.
    pub cooldown_ns: u64,
    /// The time for which the query runs, nanoseconds; 0 for one window.
    pub run_ns: u64,
    /// True if the query answers in the window that fired.
    pub in_same_window: bool,
    /// The time from the first event of a chain in which this query must have started, nanoseconds.
    pub within_ns: Option<u64>,
    /// The values that a firing pins: each set of values is an instance of the query, with a run of its own.
    pub bindings: Vec<Binding>,
}

/// A query whose answers are judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerSource {
    /// The number of the query.
    pub query: usize,
    /// The columns of the key that is judged, in one order for all sources; `None` if it is one group that counts for all keys.
    pub key: Option<Vec<usize>>,
}

/// A place where a condition is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluationPoint {
    /// The node that events name, by number; [`ALL_NODES`] where the sources are of several.
    pub node: usize,
    /// The node of each source.
    pub of: Vec<usize>,
}

/// A value that a firing pins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Binding {
    /// A field of flows has the value of an item.
    Field {
        /// The field, and the kind of its values.
        column: model::Column,
        /// The item, by number.
        item: usize,
    },
    /// The query runs on the node that fired.
    Node,
}

impl Graph {
    /// Replaces the addresses of keys that constants pin, for nodes whose answers have others.
    pub fn map_pinned_addresses(&mut self, f: &mut dyn FnMut(IpAddr) -> IpAddr) {
        for query in &mut self.queries {
            let mut mapped = |member: &Member| {
                let mut value = model::Value::from(member);
                value.map_addresses(f);
                Member::from(&value)
            };
            let mut key = |key: &EventKey| key.iter().map(&mut mapped).collect();
            query.pinned = query.pinned.iter().map(&mut key).collect();
        }
    }

    /// The queries of which a query's chain has answers before it starts, by number.
    pub(crate) fn before(&self, query: usize) -> BTreeSet<usize> {
        let mut before = BTreeSet::new();
        let mut left = vec![query];
        while let Some(query) = left.pop() {
            let sources = self.queries[query].trigger.iter().flat_map(|trigger| &trigger.sources);
            left.extend(sources.map(|source| source.query).filter(|source| before.insert(*source)));
        }
        before
    }

    /// The columns of the keys of a trigger, as the first of its sources that has keys names them; none where all is one group.
    pub fn key_columns<'a>(&'a self, trigger: &'a QueryTrigger) -> impl Iterator<Item = &'a model::Column> {
        let keyed = trigger.sources.iter().find_map(|source| Some((source.query, source.key.as_ref()?)));
        keyed.into_iter().flat_map(move |(query, columns)| {
            columns.iter().map(move |column| &self.queries[query].columns[*column].column)
        })
    }

    /// The name of a node; `None` for all together.
    pub fn node_name(&self, node: usize) -> Option<&str> {
        self.nodes.get(node).map(String::as_str)
    }
}

impl QueryTrigger {
    /// A trigger by one query, judged node by node, without anything else.
    pub fn new(source: usize, query: &GraphQuery, condition: TriggerCondition) -> Self {
        let places =
            query.nodes.iter().map(|node| EvaluationPoint { node: *node, of: vec![*node] }).collect();
        Self {
            kind: TriggerKind::When,
            sources: vec![TriggerSource { query: source, key: Some(query.key.clone()) }],
            places,
            condition,
            text: String::new(),
            title: TitleForm::default(),
            hold_ns: 0,
            until: None,
            cooldown_ns: 0,
            run_ns: 0,
            in_same_window: false,
            within_ns: None,
            bindings: Vec::new(),
        }
    }

    /// Returns true if each set of pinned values, or each node, has a run of its own.
    pub fn has_instances(&self) -> bool {
        !self.bindings.is_empty()
    }

    /// Returns true if a firing pins fields of flows.
    pub fn has_fields(&self) -> bool {
        self.bindings.iter().any(|binding| matches!(binding, Binding::Field { .. }))
    }

    /// Returns true if the query answers in the window that fired, from what nodes have kept of it.
    pub fn looks_back(&self) -> bool {
        self.in_same_window || self.kind == TriggerKind::While
    }

    /// An instance as named values.
    pub fn pinned<'a>(&'a self, instance: &'a EventKey) -> Vec<model::Item> {
        let columns = self.bindings.iter().filter_map(|binding| match binding {
            Binding::Field { column, .. } => Some(column),
            Binding::Node => None,
        });
        crate::key::items(instance, columns)
    }
}

impl GraphQuery {
    /// A query without columns and nodes that always runs, in windows of this length, one after the other.
    pub fn new(name: impl Into<String>, every_ns: u64) -> Self {
        Self {
            name: name.into(),
            text: String::new(),
            columns: Vec::new(),
            key: Vec::new(),
            every_ns,
            over_ns: every_ns,
            nodes: Vec::new(),
            pinned: BTreeSet::new(),
            bound_key: None,
            largest_first: None,
            left_out: None,
            trigger: None,
        }
    }

    /// Returns the values that an instance of the query pins, by name.
    pub fn pinned_by(&self, instance: &EventKey) -> Vec<model::Item> {
        self.trigger.as_ref().map(|trigger| trigger.pinned(instance)).unwrap_or_default()
    }

    /// True if its windows end at such times.
    pub(crate) fn ends_at(&self, end_ns: u64) -> bool {
        end_ns.is_multiple_of(self.every_ns)
    }

    /// The begin of the first window that a firing at this time measures (`docs/equery.md`, rule 3): it begins once its task is on all
    /// nodes.
    pub fn first_start(&self, fired_ns: u64, settings: &EventSettings) -> u64 {
        // A second for the way to the nodes.
        fired_ns
            .saturating_add(settings.grace_ns)
            .saturating_add(1_000_000_000)
            .next_multiple_of(self.every_ns)
    }

    /// The end of the last window of a run whose first one begins then.
    pub fn last_end(&self, start_ns: u64) -> u64 {
        let run_ns = self.trigger.as_ref().map_or(0, |trigger| trigger.run_ns);
        let more = run_ns.div_ceil(self.every_ns).max(1) - 1;
        start_ns.saturating_add(self.over_ns).saturating_add(more.saturating_mul(self.every_ns))
    }
}
