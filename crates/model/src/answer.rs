//! The answer of one query.

mod json;
mod rest;

pub use rest::Rest;

use crate::{
    Column, ColumnKind, Counters, Integer, Item, Missing, Nullable, PacketCounts, Sampling, Span, Value,
};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::net::IpAddr;

/// The completeness of an answer, or of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AnswerStatus"))]
#[serde(rename_all = "snake_case")]
pub enum AnswerStatus {
    /// All of the window was observed, and all rows counted.
    #[default]
    Complete,
    /// Something is missing, such as refused rows or a node.
    Partial,
    /// The window was observed only in part; nothing else is missing.
    Cut,
}

/// The way in which a query is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A query that is answered from the rows of a window, when the window closes.
    #[default]
    Row,
    /// A query that is answered from the packets of pinned keys, which are few.
    Zoom,
    /// A query that is answered from the packets of all flows, by a structure of bounded size.
    Sketch,
    /// A query that is answered from window rows of a sample of the packets.
    Sample,
}

impl Class {
    /// Returns the name of the class in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Zoom => "zoom",
            Self::Sketch => "sketch",
            Self::Sample => "sample",
        }
    }
}

/// The way in which a task counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Task"))]
pub struct TaskNote {
    /// The task as the user wrote it; of a query, its name and the task that answers it.
    pub text: String,
    /// The structure that counted, with its sizes.
    pub structure: String,
    /// The reason why this structure was chosen.
    pub why: String,
    /// The memory of one such structure, of all address families together, bytes.
    #[serde(with = "Integer")]
    pub memory_bytes: u64,
    /// The number of packets that were counted in the window, or of bytes where the task is about these.
    #[serde(with = "Integer")]
    pub total: u64,
    /// The number of packets lost before the measurement, which bounds include; `None` if the source cannot count its loss.
    #[serde(with = "Nullable::<Integer>")]
    pub lost: Option<u64>,
    /// The most that any group has that is not among the rows, where that is certain.
    #[serde(default, with = "Nullable::<Integer>", skip_serializing_if = "Option::is_none")]
    pub most_unlisted: Option<u64>,
}

/// Returns the weaker of two bounds in words: those that hold of the values of both.
pub fn weaker_bounds<'a>(one: &'a str, other: &'a str) -> &'a str {
    // Texts of probabilities differ in the number alone.
    let weakness = |bounds: &str| match bounds {
        "exact" => 0,
        "certain" => 1,
        "none" => 3,
        _ => 2,
    };
    match weakness(one).cmp(&weakness(other)) {
        Ordering::Less => other,
        Ordering::Greater => one,
        Ordering::Equal => one.min(other),
    }
}

/// The account of all frames of a window.
///
/// In the JSON of an answer its members are those of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// The frames that were received, measured and not measured.
    pub packets: PacketCounts,
    /// The frames that the source lost, by its own counters; `None` if it cannot count them.
    pub loss: Option<Counters>,
}

/// The answer of one query for one window and node: a table under named columns. It may be split over several objects with the same query,
/// node and window.
///
/// JSON: an object with the members in this order, the columns, the reason, the task and the account last, and each row an object. Writing
/// fails where a row does not fit the columns.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema_forms::answer))]
pub struct Answer {
    /// The name of the query.
    pub query: String,
    /// The name of the observation point; `None` in answers across nodes.
    pub node: Option<String>,
    /// The fields that the firing pinned which started the query, with their values.
    #[cfg_attr(feature = "schema", schemars(with = "crate::event::Items", skip_serializing_if = "Vec::is_empty", extend("minProperties" = 1)))]
    pub bound: Vec<Item>,
    /// The window; `None` for the whole run.
    pub window: Option<Span>,
    /// The completeness of the answer.
    pub status: AnswerStatus,
    /// True if the answer came after the time for answers of its window.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Not::not", extend("const" = true)))]
    pub late: bool,
    /// The number of earlier answers of this query and window that this one replaces.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "crate::Positive", skip_serializing_if = "crate::Positive::is_zero")
    )]
    pub revision: u64,
    /// The observed part of a window that was observed only in part: of each that is cut, and of partial ones.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub watched: Option<Span>,
    /// The number of windows in a run of empty ones. The window spans all of them.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "crate::Positive", skip_serializing_if = "Option::is_none")
    )]
    pub empty: Option<u64>,
    /// The times of the answer of which nothing is known, the oldest first. Where there is one, the status is `partial`.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Vec::is_empty", length(min = 1)))]
    pub missing: Vec<Missing>,
    /// The share of the packets received or lost before the table that were received; `None` if the source cannot count its loss. Of an
    /// answer from a store, the share of the time asked about that was watched and stored.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub coverage: Option<f64>,
    /// The way in which the query was executed.
    pub class: Class,
    /// The levels of a store that the answer was read from, the coarsest first.
    ///
    /// Empty where it was read from none.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Vec::is_empty", length(min = 1), extend("items" = {"type": "string", "enum": ["1h", "1min", "rows"]}, "uniqueItems" = true)))]
    pub levels: Vec<String>,
    /// The share of the packets that was sampled.
    ///
    /// `None`: all were taken.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub sampling: Option<Sampling>,
    /// The rows, in the order of the query. Each has a member for each column.
    ///
    /// A value for each column, in their order.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::event::Items>"))]
    pub rows: Vec<Vec<Value>>,
    /// The groups that are in no row.
    pub rest: Rest,
    /// The kind of the bounds of values: `exact`, `certain`, a probability, or `none`.
    pub bounds: String,
    /// The name, the kind and the unit of each member of the rows.
    pub columns: Vec<Column>,
    /// The reason why the answer is not complete, and what else is to be known of it.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub reason: Option<String>,
    /// The way in which a task counted.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub task: Option<TaskNote>,
    /// The account of all frames, in the answer of the query `totals` of a window.
    #[cfg_attr(feature = "schema", schemars(flatten))]
    pub account: Option<Account>,
}

impl Answer {
    /// A complete, exact answer from window rows.
    pub fn new(
        query: impl Into<String>,
        window: Option<Span>,
        columns: Vec<Column>,
        rows: Vec<Vec<Value>>,
    ) -> Self {
        Self {
            query: query.into(),
            node: None,
            bound: Vec::new(),
            window,
            status: AnswerStatus::Complete,
            late: false,
            revision: 0,
            watched: None,
            empty: None,
            missing: Vec::new(),
            coverage: None,
            class: Class::Row,
            levels: Vec::new(),
            sampling: None,
            columns,
            rows,
            rest: Rest::default(),
            bounds: "exact".to_owned(),
            reason: None,
            task: None,
            account: None,
        }
    }

    /// The position of the column of this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The value of a row under the column of this name.
    pub fn value(&self, row: usize, name: &str) -> Option<&Value> {
        self.rows.get(row)?.get(self.column(name)?)
    }

    /// Makes the answer partial, for this reason in addition to those that it has. What is missing may belong to any of its rows: it
    /// is exact no more, and no bounds are certain.
    pub fn mark_partial(&mut self, reason: &str) {
        self.status = AnswerStatus::Partial;
        self.remark(reason);
        self.doubt_bounds();
    }

    /// Makes the answer partial, because nothing is known of these times. The reason names the first of them.
    pub fn mark_missing(&mut self, missing: &[Missing]) {
        const NAMED: usize = 3;
        if missing.is_empty() {
            return;
        }
        let mut words: Vec<String> = missing.iter().take(NAMED).map(Missing::to_string).collect();
        if let Some(more) = missing.len().checked_sub(NAMED).filter(|more| *more > 0) {
            words.push(format!("{more} more times"));
        }
        self.mark_partial(&format!("missing: {}", words.join(", ")));
        missing.iter().for_each(|more| Missing::push(&mut self.missing, *more));
    }

    /// Adds a remark to the reason; the answer stays as complete as it is.
    pub fn remark(&mut self, remark: &str) {
        self.reason = Some(match self.reason.take() {
            None => remark.to_owned(),
            Some(others) => format!("{others}; {remark}"),
        });
    }

    /// Returns true if a structure that answered may have had no room for some groups, whose number is not known.
    pub fn may_lack_groups(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.most_unlisted != Some(0))
    }

    /// Returns the bounds of values that are estimates, in words; `None` where they are exact. Rows that lack something, as those of a partial
    /// answer, are no estimates.
    pub fn bounds_of_estimates(&self) -> Option<&str> {
        let is_counted = matches!(self.class, Class::Row | Class::Zoom);
        let lacks_rows = is_counted && self.status == AnswerStatus::Partial;
        (self.bounds != "exact" && !lacks_rows).then_some(&*self.bounds)
    }

    /// States that the values are estimates, and how good they are, in words: they have no bounds.
    pub fn estimates(&mut self, how_good: &str) {
        self.remark(how_good);
        self.doubt_bounds();
        if self.bounds == "none" {
            // Bounds that were certain of what was counted are none of what it stands for.
            let totals = self.rest.totals.iter_mut().map(|(_, value)| value);
            for value in self.rows.iter_mut().flatten().chain(totals) {
                if let Value::Estimate { lower, upper, .. } = value {
                    (*lower, *upper) = (f64::NEG_INFINITY, f64::INFINITY);
                }
            }
        }
    }

    /// States that no bounds are certain. Those of a probability stay.
    fn doubt_bounds(&mut self) {
        if ["exact", "certain"].contains(&&*self.bounds) {
            self.bounds = "none".to_owned();
        }
    }

    /// Keeps the first rows; the others are counted in the rest, and the answer is partial for this reason. Returns how many were left out.
    pub fn shorten(&mut self, most: usize, reason: &str) -> usize {
        let cut = self.list(most);
        if cut > 0 {
            self.mark_partial(&format!("{cut} rows are left out: {reason}"));
        }
        cut
    }

    /// Lists the first rows, as a lower limit of its query would: the others are counted in the rest. Returns how many those are.
    pub fn list(&mut self, most: usize) -> usize {
        if self.rows.len() <= most {
            return 0;
        }
        let cut = self.rows.split_off(most);
        self.rest.groups = self.rest.groups.saturating_add(cut.len() as u64);
        for (name, total) in &mut self.rest.totals {
            let column = self.columns.iter().position(|column| column.name == *name);
            let values =
                cut.iter().map(|row| column.and_then(|column| row.get(column)).unwrap_or(&Value::Null));
            *total = values.fold(std::mem::take(total), |sum, value| sum.plus(value));
        }
        cut.len()
    }

    /// Takes note that values come of others, too, whose bounds are of this kind: the weaker kind is that of all.
    pub fn join_bounds(&mut self, of_others: &str) {
        if weaker_bounds(&self.bounds, of_others) != self.bounds {
            of_others.clone_into(&mut self.bounds);
        }
    }

    /// Adds the values of another answer's first row, which has the same columns of counts, to its own.
    pub(crate) fn add_values(&mut self, more: &Self) {
        self.join_bounds(&more.bounds);
        for (own, more) in self.rows.iter_mut().zip(&more.rows) {
            for ((own, more), column) in own.iter_mut().zip(more).zip(&self.columns) {
                *own = match (column.name.as_str(), &own, more) {
                    (_, Value::Null, Value::Time(time)) | (_, Value::Time(time), Value::Null) => {
                        Value::Time(*time)
                    }
                    ("stime", Value::Time(one), Value::Time(other)) => Value::Time(*one.min(other)),
                    (_, Value::Time(one), Value::Time(other)) => Value::Time(*one.max(other)),
                    (_, own, more) => own.plus(more),
                };
            }
        }
    }

    /// Replaces addresses: of a prefix those bits that it has. Estimates stay. Addresses that are bounds (the columns `lower` and
    /// `upper`) become null, because their order does not survive.
    pub fn map_addresses(&mut self, f: &mut dyn FnMut(IpAddr) -> IpAddr) {
        self.bound.iter_mut().for_each(|item| item.value.map_addresses(f));
        for row in &mut self.rows {
            for (column, value) in self.columns.iter().zip(row) {
                let is_bound = matches!(column.name.as_str(), "lower" | "upper");
                if is_bound && column.kind == ColumnKind::Address {
                    *value = Value::Null;
                } else {
                    value.map_addresses(f);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that is left out, or a packet in no group, takes nothing from the bounds of the rows that are there.
    #[test]
    fn bounds_of_rows_are_open_where_values_stand_for_more_than_was_counted() {
        let row = |lower: f64, upper: f64| vec![vec![Value::Estimate { value: 5.0, lower, upper }]];
        let (known, open) = (row(4.0, 6.0), row(f64::NEG_INFINITY, f64::INFINITY));
        let mut answer = Answer::new("q", None, Vec::new(), known.clone());
        answer.mark_partial("1 packet in no group");
        assert_eq!((answer.bounds.as_str(), &answer.rows), ("none", &known));
        answer.estimates("of a sample");
        assert_eq!((answer.bounds.as_str(), &answer.rows), ("none", &open));
        let mut sampled =
            Answer { bounds: "certain".to_owned(), ..Answer::new("q", None, Vec::new(), known) };
        sampled.estimates("of a sample");
        assert_eq!((sampled.bounds.as_str(), &sampled.rows), ("none", &open));
        assert_eq!(sampled.status, AnswerStatus::Complete);
    }

    #[test]
    fn an_estimate_is_what_is_between_bounds_and_no_row_that_is_missing() {
        use AnswerStatus::{Complete, Cut, Partial};
        for (class, status, bounds, expected) in [
            (Class::Row, Complete, "exact", None),
            (Class::Row, Complete, "certain", Some("certain")),
            (Class::Row, Cut, "none", Some("none")),
            (Class::Row, Partial, "none", None),
            (Class::Zoom, Partial, "none", None),
            (Class::Sketch, Partial, "none", Some("none")),
            (Class::Sample, Complete, "exact", None),
        ] {
            let own = Answer::new("q", None, Vec::new(), Vec::new());
            let answer = Answer { class, status, bounds: bounds.to_owned(), ..own };
            assert_eq!(answer.bounds_of_estimates(), expected, "{class:?} {status:?} {bounds}");
        }
    }

    #[test]
    fn the_weaker_kind_of_bounds_is_that_of_all() {
        let [more, less] = [0.99, 0.95].map(|share| format!("each with a probability of {share:.3}"));
        let from_strong = ["exact", "certain", &more, &less, "none"];
        for (at, one) in from_strong.iter().enumerate() {
            for (other_at, other) in from_strong.iter().enumerate() {
                let mut answer = Answer::new("q", None, Vec::new(), Vec::new());
                (*one).clone_into(&mut answer.bounds);
                answer.join_bounds(other);
                assert_eq!(answer.bounds, from_strong[at.max(other_at)], "{one} and {other}");
            }
        }
    }
}
