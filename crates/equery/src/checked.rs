//! The meaning of a text that is checked.

use crate::diagnostic::{Diagnostic, Severity};
use crate::earlier::EarlierReference;
use crate::kind::ValueKind;
use crate::node_filter::NodeFilter;
use crate::sketch::Sketch;
use model::Class;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;
use task::query::{Across, Condition, Expression, Over, Query};

/// The result of a check of a text: its queries as far as they have no errors, and the diagnostics.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckedText {
    /// Queries without errors, in the order of the text.
    pub queries: Vec<CheckedQuery>,
    /// The definitions that these read, as canonical text that stands before theirs.
    #[serde(skip)]
    pub definitions: Vec<String>,
    /// Errors, warnings and notes, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The graph of queries that trigger or read others.
    pub graph: EventGraph,
    /// The queries that could be read, also those with errors: their names, and their places in the text, bytes.
    #[serde(skip)]
    pub places: Vec<(String, Range<usize>)>,
}

impl CheckedText {
    /// Returns true if the text has errors, so that nothing of it may be installed.
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
pub struct CheckedColumn {
    /// The name of the column.
    pub name: String,
    /// The type and unit of the column.
    pub kind: ValueKind,
}

/// A time in `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimePoint {
    /// Nanoseconds since the epoch.
    At(i64),
    /// Nanoseconds before the query is asked.
    Ago(u64),
}

/// The part of recorded history that a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryRange {
    /// The begin of the part.
    pub from: TimePoint,
    /// The end of the part; `None` is now.
    pub to: Option<TimePoint>,
}

/// A field that a firing pins: `where dst_addr = q1.dst_addr`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldBinding {
    /// The field.
    pub field: String,
    /// The query that fires.
    pub parent: String,
    /// The key field or item of that query.
    pub item: String,
}

/// The relation of a query to another one that triggers it or that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// The word `when`: the query starts once, when the condition becomes true.
    When,
    /// The words `when each`: the query starts in each window in which the condition is true.
    WhenEach,
    /// The word `while`: the query answers in each window in which the condition holds.
    While,
    /// The word `from`: the query reads the other's answers.
    From,
}

impl EdgeKind {
    /// Returns the words of the clause, as they are written in a query.
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
    /// The conjunction of conditions.
    And(Vec<EventCondition>),
    /// The disjunction of conditions.
    Or(Vec<EventCondition>),
    /// The negation of a condition.
    Not(Box<EventCondition>),
    /// A condition that holds whatever the packets that were lost.
    Surely(Box<EventCondition>),
    /// The condition that the query of this name has no answer.
    IsMissing(String),
    /// A condition on fields `QUERY.ITEM`.
    Of(Condition),
}

impl EventCondition {
    /// Returns true if the condition becomes true by answers of this query alone or with those of others, whichever of its parts does.
    pub(crate) fn rests_on(&self, query: &str) -> bool {
        self.rests_where(query, true)
    }

    /// Returns whether each way in which the condition becomes this (true or false) has a part that compares what the query answers.
    fn rests_where(&self, query: &str, holds: bool) -> bool {
        match (self, holds) {
            (Self::And(of), true) | (Self::Or(of), false) => {
                of.iter().any(|one| one.rests_where(query, holds))
            }
            (Self::And(of), false) | (Self::Or(of), true) => {
                of.iter().all(|one| one.rests_where(query, holds))
            }
            (Self::Not(of), _) => of.rests_where(query, !holds),
            (Self::Surely(of), _) => of.rests_where(query, holds),
            (Self::IsMissing(_), _) => false,
            (Self::Of(condition), _) => compares(condition, query, holds),
        }
    }
}

/// Returns whether each way in which a condition becomes this has a part that compares what a query answers.
fn compares(condition: &Condition, query: &str, holds: bool) -> bool {
    let is_of = |value: &Expression| concerns(value, query);
    match (condition, holds) {
        (Condition::And(of), true) | (Condition::Or(of), false) => {
            of.iter().any(|one| compares(one, query, holds))
        }
        (Condition::And(of), false) | (Condition::Or(of), true) => {
            of.iter().all(|one| compares(one, query, holds))
        }
        (Condition::Not(of), _) => compares(of, query, !holds),
        (Condition::Compare(left, _, right), _) => is_of(left) || is_of(right),
        (Condition::In(value, of), _) => is_of(value) || of.iter().any(is_of),
        (Condition::IsNull(value), _) => is_of(value),
        (Condition::InPrefixes(field, _) | Condition::Like(field, _), _) => is_item(field, query),
    }
}

fn concerns(value: &Expression, query: &str) -> bool {
    match value {
        Expression::Field(field) => is_item(field, query),
        Expression::Arithmetic(left, _, right) => concerns(left, query) || concerns(right, query),
        Expression::Integer(_) | Expression::Float(_) | Expression::Text(_) | Expression::Aggregate(_) => {
            false
        }
    }
}

/// Returns true if a field is an item of a query: `QUERY.ITEM`.
fn is_item(field: &str, query: &str) -> bool {
    field.strip_prefix(query).is_some_and(|rest| rest.starts_with('.'))
}

/// A part of the title that a query gives to what fires (`say`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaidPart {
    /// A text, as it is.
    Text(String),
    /// The value of a column or key of another query's answer.
    Item {
        /// The query that fires.
        query: String,
        /// The key field or column of that query.
        item: String,
    },
    /// The node that fires.
    Node,
}

/// A clause that triggers a query: `when`, `when each` or `while`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriggerClause {
    /// The kind of the trigger.
    pub kind: EdgeKind,
    /// The condition as text.
    pub condition: String,
    /// The condition on fields `QUERY.ITEM`; `None` where it has an error.
    #[serde(skip)]
    pub when: Option<EventCondition>,
    /// The condition that re-arms the trigger, on fields `QUERY.ITEM`; `None` where it has an error.
    #[serde(skip)]
    pub rearm: Option<EventCondition>,
    /// The queries that the condition is about.
    pub parents: Vec<String>,
    /// The time for which the condition must have been true, nanoseconds.
    pub for_ns: Option<u64>,
    /// The condition that re-arms the trigger, as text. Without it, the condition being false re-arms the trigger.
    pub until: Option<String>,
    /// The time for which the trigger stays quiet after it fired, nanoseconds.
    pub cooldown_ns: Option<u64>,
    /// True if the query answers from the window that fired.
    pub in_same_window: bool,
    /// The time for which the query repeats, nanoseconds.
    pub run_ns: Option<u64>,
    /// The time from the first event of the chain in which the query must start.
    pub within_ns: Option<u64>,
}

/// The optional parts of rows that a query reads, which the run must measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReadParts {
    /// True if the query reads losses.
    #[serde(rename = "needs_loss")]
    pub loss: bool,
    /// True if the query reads header fields beyond the plain ones.
    #[serde(rename = "needs_headers")]
    pub headers: bool,
}

/// The clauses of a query that are about its firing and change nothing of what it answers and when it fires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FiringClauses {
    /// The number of packets of the pinned traffic that are stored.
    pub capture_packets: Option<u64>,
    /// The title of its firing; of a query that nothing triggers, of the firings that its answers cause.
    #[serde(skip)]
    pub title: Option<Vec<SaidPart>>,
    /// The query as canonical text without its title, which tells it from other versions.
    #[serde(skip)]
    pub text_without_title: String,
}

/// A checked query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedQuery {
    /// The name of the query.
    pub label: String,
    /// The query as canonical text.
    pub text: String,
    /// The definitions that it reads, as canonical text (`let NAME = VALUE;`) with the values that they have, also by `--set`.
    pub definitions: Vec<String>,
    /// The place of the query in the text, bytes.
    pub text_span: Range<usize>,
    /// The columns of the answer.
    pub columns: Vec<CheckedColumn>,
    /// The nodes that it runs on.
    pub nodes: NodeFilter,
    /// The class of execution of the query.
    pub class: Class,
    /// The reasons for this class.
    pub class_reasons: Vec<String>,
    /// The optional parts of rows that the query reads.
    #[serde(flatten)]
    pub parts: ReadParts,
    /// Statistics of packets that it reads, by name (`gap_p99`): of the flows that it pins, or of all flows where the run keeps them so.
    pub statistics: Vec<String>,
    /// True if the filter leaves few flows, so that losses of these alone are sufficient.
    pub pins_flows: bool,
    /// The fields that it reads from geographic databases, which the run must have.
    pub needs_geo: Vec<String>,
    /// The plan that is computed. In the plan of a derived query, fields are `QUERY.ITEM`.
    pub plan: Query,
    /// The way in which answers of several nodes are merged.
    pub across: Option<Across>,
    /// The recorded history that it reads.
    pub history: Option<HistoryRange>,
    /// Values of earlier windows that it reads: fields of its plan.
    pub earlier: Vec<EarlierReference>,
    /// The memory of these windows, bytes; an estimate.
    pub past_bytes: u64,
    /// The queries that it reads, of a derived one.
    pub derived_from: Vec<String>,
    /// The trigger of the query.
    pub trigger: Option<TriggerClause>,
    /// Fields that a firing pins.
    pub bindings: Vec<FieldBinding>,
    /// What its firing is told as, and what is stored of it.
    #[serde(flatten)]
    pub firing: FiringClauses,
    /// True if the answers are exported as a metric.
    pub is_metric: bool,
    /// The most memory that it takes, an estimate.
    pub memory_bytes: u64,
    /// The structure that counts packets for the query, where one does.
    pub sketch: Option<Sketch>,
    /// The parts of the query that this version does not run.
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

    /// Returns how far before its own window the query reads values of earlier ones, nanoseconds; 0 where it reads none. `usual_ns`: the length
    /// of its windows where it does not say it.
    pub fn reach_ns(&self, usual_ns: u64) -> u64 {
        let (every_ns, over_ns) = match self.plan.over {
            Over::Windows { every_ns, over_ns } => (every_ns, over_ns),
            Over::Window | Over::Run => (usual_ns, usual_ns),
        };
        let reaches = self.earlier.iter().map(|earlier| earlier.windows.reach_ns(every_ns, over_ns));
        reaches.max().map_or(0, |reach| reach.saturating_add(over_ns))
    }
}

/// The graph of queries that trigger or read others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventGraph {
    /// The queries.
    pub nodes: Vec<String>,
    /// The edges, from the query that fires or is read to the query that answers.
    pub edges: Vec<EventEdge>,
}

/// An edge of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventEdge {
    /// The query whose answers are judged or read.
    pub from: String,
    /// The query that runs.
    pub to: String,
    /// The kind of the edge.
    pub kind: EdgeKind,
    /// The condition; empty where answers are read.
    pub condition: String,
}
