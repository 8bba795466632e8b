//! What a text means, once it is checked.

use crate::diagnostic::{Diagnostic, Severity};
use crate::earlier::Earlier;
use crate::kind::Kind;
use crate::node_filter::NodeFilter;
use crate::sketch::Sketch;
use model::Class;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;
use task::query::{Across, Condition, Over, Query};

/// All of a text: its queries as far as they have no errors, and what was found in it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checked {
    /// Queries without errors, in the order of the text.
    pub queries: Vec<CheckedQuery>,
    /// The definitions that these read, as canonical text that stands before theirs.
    #[serde(skip)]
    pub definitions: Vec<String>,
    /// Errors, warnings and notes, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Which query triggers which.
    pub graph: EventGraph,
    /// All queries that could be read, also those with errors: their names, and where they stand, bytes of the text.
    #[serde(skip)]
    pub places: Vec<(String, Range<usize>)>,
}

impl Checked {
    /// Whether nothing of the text may be installed.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }
}

/// A part of a query that this version parses and checks but does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotRun {
    /// The clause or function.
    pub clause: String,
    /// The reason why it does not run.
    pub reason: String,
    /// The place in the text, bytes.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Place"))]
    pub span: Range<usize>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type and unit.
    pub kind: Kind,
}

/// A time in `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Nanoseconds since the epoch.
    At(i64),
    /// Nanoseconds before the query is asked.
    Ago(u64),
}

/// The part of recorded history that a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct History {
    /// Its begin.
    pub from: Moment,
    /// Its end; `None` is now.
    pub to: Option<Moment>,
}

/// A field that a firing pins: `where dst_addr = q1.dst_addr`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// The field.
    pub field: String,
    /// The query that fires.
    pub parent: String,
    /// Its key or item.
    pub item: String,
}

/// How a trigger answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// `when`: once, when the condition becomes true.
    When,
    /// `when each`: in each window in which it is true.
    WhenEach,
    /// `while`: the query answers in each window in which it holds.
    While,
    /// `from`: the query reads the other's answers.
    From,
}

impl EdgeKind {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::When => "when",
            Self::WhenEach => "when each",
            Self::While => "while",
            Self::From => "from",
        }
    }
}

/// A condition on answers of other queries.
#[derive(Clone, Debug, PartialEq)]
pub enum EventCondition {
    /// All of them.
    And(Vec<EventCondition>),
    /// Any of them.
    Or(Vec<EventCondition>),
    /// The opposite.
    Not(Box<EventCondition>),
    /// It holds whatever the packets that were lost.
    Surely(Box<EventCondition>),
    /// The query of this name has no answer.
    IsMissing(String),
    /// A condition on fields `QUERY.ITEM`.
    Of(Condition),
}

/// What triggers a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trigger {
    /// How it answers.
    pub kind: EdgeKind,
    /// The condition.
    pub condition: String,
    /// The same on fields `QUERY.ITEM`; `None` where it has an error.
    #[serde(skip)]
    pub when: Option<EventCondition>,
    /// What re-arms it, likewise.
    #[serde(skip)]
    pub rearm: Option<EventCondition>,
    /// The queries that it is about.
    pub parents: Vec<String>,
    /// How long the condition must have been true.
    pub for_ns: Option<u64>,
    /// What re-arms it instead of the condition being false.
    pub until: Option<String>,
    /// How long it stays quiet after it fired.
    pub cooldown_ns: Option<u64>,
    /// It answers from the window that fired.
    pub in_same_window: bool,
    /// How long it repeats.
    pub run_ns: Option<u64>,
    /// The time from the first event of the chain in which the query must start.
    pub within_ns: Option<u64>,
}

/// One query, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedQuery {
    /// Its name.
    pub label: String,
    /// The query as canonical text.
    pub text: String,
    /// The definitions that it reads, as canonical text (`let NAME = VALUE;`) with the values that they have, also by `--set`.
    pub definitions: Vec<String>,
    /// Where it stands, bytes of the text.
    pub text_span: Range<usize>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The nodes that it runs on.
    pub nodes: NodeFilter,
    /// How it is executed.
    pub class: Class,
    /// Why so.
    pub class_reasons: Vec<String>,
    /// Whether it reads losses, which the run must track.
    pub needs_loss: bool,
    /// Statistics of the packets of the flows that it pins, by name (`gap_p99`).
    pub statistics: Vec<String>,
    /// Whether its filter leaves few flows, so that losses of these alone are sufficient.
    pub pins_flows: bool,
    /// The fields that it reads from geographic databases, which the run must have.
    pub needs_geo: Vec<String>,
    /// What is computed. Of a derived query, fields are `QUERY.ITEM`.
    pub plan: Query,
    /// How answers of several nodes are merged.
    pub across: Option<Across>,
    /// The recorded history that it reads.
    pub history: Option<History>,
    /// Values of earlier windows that it reads: fields of its plan.
    pub earlier: Vec<Earlier>,
    /// The memory of these windows, bytes; an estimate.
    pub past_bytes: u64,
    /// The queries that it reads, of a derived one.
    pub derived_from: Vec<String>,
    /// What triggers it.
    pub trigger: Option<Trigger>,
    /// Fields that a firing pins.
    pub bindings: Vec<Bound>,
    /// How many packets of what is pinned are stored.
    pub capture_packets: Option<u64>,
    /// Its answers are exported as a metric.
    pub is_metric: bool,
    /// The most memory that it takes, an estimate.
    pub memory_bytes: u64,
    /// Where packets are counted for it: how.
    pub sketch: Option<Sketch>,
    /// What this version does not run.
    pub not_run: Vec<NotRun>,
}

impl CheckedQuery {
    /// The fields by which a run with flows of this key counts packets for it, and why rows of whole flows do not answer it, where they
    /// do not. Empty where it reads no rows.
    pub fn by_packets(&self, key: &[String]) -> (Vec<String>, Option<String>) {
        if self.sketch.is_some() || !self.derived_from.is_empty() {
            return (Vec::new(), None);
        }
        crate::executor::by_packets(&self.measured(), Some(key))
    }

    /// Returns what nodes measure for it: its plan, or what that is computed from where it reads values of earlier windows.
    pub(crate) fn measured(&self) -> Cow<'_, Query> {
        match &self.earlier[..] {
            [] => Cow::Borrowed(&self.plan),
            earlier => Cow::Owned(crate::earlier::base(&self.plan, earlier)),
        }
    }

    /// How far before its own window it reads values of earlier ones, nanoseconds; 0 where it reads none. `usual_ns`: the length of its
    /// windows where it does not say it.
    pub fn reach_ns(&self, usual_ns: u64) -> u64 {
        let (every_ns, over_ns) = match self.plan.over {
            Over::Windows { every_ns, over_ns } => (every_ns, over_ns),
            Over::Window | Over::Run => (usual_ns, usual_ns),
        };
        let reaches = self.earlier.iter().map(|earlier| earlier.windows.reach_ns(every_ns, over_ns));
        reaches.max().map_or(0, |reach| reach.saturating_add(over_ns))
    }
}

/// Which query triggers or reads which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventGraph {
    /// The queries.
    pub nodes: Vec<String>,
    /// From the query that fires to the query that answers.
    pub edges: Vec<EventEdge>,
}

/// An edge of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventEdge {
    /// The query whose answers are judged or read.
    pub from: String,
    /// The query that runs.
    pub to: String,
    /// How.
    pub kind: EdgeKind,
    /// The condition; empty where answers are read.
    pub condition: String,
}
