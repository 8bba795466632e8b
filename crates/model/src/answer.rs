//! The answer of one query.

mod json;
mod rest;

pub use rest::Rest;

use crate::{
    Column, ColumnKind, Counters, Integer, Item, Missing, Nullable, PacketCounts, Sampling, Span, Value,
};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Whether an answer, or a window, is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All of the window was observed, and all rows counted.
    #[default]
    Complete,
    /// Rows were refused, or a node is missing.
    Partial,
    /// The window was observed only in part.
    Cut,
}

/// How a query is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// From the rows of a window, when it closes.
    #[default]
    Row,
    /// From the packets of pinned keys, which are few.
    Zoom,
    /// From the packets of all flows, by a structure of bounded size.
    Sketch,
    /// From window rows of a sample of the packets.
    Sample,
}

impl Class {
    /// Returns its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Zoom => "zoom",
            Self::Sketch => "sketch",
            Self::Sample => "sample",
        }
    }
}

/// How a task counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskNote {
    /// The task as the user wrote it.
    pub text: String,
    /// The structure that counted, with its sizes.
    pub structure: String,
    /// Why this structure was chosen.
    pub why: String,
    /// Memory of one such structure, of all address families together, bytes.
    #[serde(with = "Integer")]
    pub memory_bytes: u64,
    /// What was counted in the window: packets, or bytes where the task is about them.
    #[serde(with = "Integer")]
    pub total: u64,
    /// Packets lost before the measurement, which bounds include; `None` if the source cannot count its loss.
    #[serde(with = "Nullable::<Integer>")]
    pub lost: Option<u64>,
}

/// The account of all frames of a window. In an answer's JSON its members are those of the answer: `packets` and `loss`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Frames received, measured and not measured.
    pub packets: PacketCounts,
    /// What the source lost; `None` if it cannot count its loss.
    pub loss: Option<Counters>,
}

/// The answer of one query, for one window and node: a table under named columns.
///
/// JSON: an object with the members in this order, the columns, the reason, the task and the account last, and each row an object.
/// Writing fails where a row does not fit the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Name of the query.
    pub query: String,
    /// The observation point; `None` in answers across nodes.
    pub node: Option<String>,
    /// Of a query that a firing started: what it pinned.
    pub bound: Vec<Item>,
    /// The window; `None` for the whole run.
    pub window: Option<Span>,
    /// Whether it is complete.
    pub status: Status,
    /// It arrived after its window's time for answers.
    pub late: bool,
    /// How often an answer of this query and window was replaced before.
    pub revision: u64,
    /// The observed part of a window that was observed only in part: of each that is cut, and of partial
    /// ones.
    pub watched: Option<Span>,
    /// Of a run of empty windows: their number.
    pub empty: Option<u64>,
    /// Times in it of which nothing is known, the oldest first; where there is one, the answer is partial.
    pub missing: Vec<Missing>,
    /// Packets received, as a share of those received or lost before the table; `None` if the source cannot
    /// count its loss.
    pub coverage: Option<f64>,
    /// How it was computed.
    pub class: Class,
    /// The levels of a store that it was read from, the coarsest first; empty where it was read from none.
    pub levels: Vec<String>,
    /// How the packets were sampled; `None`: all were taken.
    pub sampling: Option<Sampling>,
    /// What the rows hold.
    pub columns: Vec<Column>,
    /// The rows, in the order of the query; each has a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// Groups that are in no row.
    pub rest: Rest,
    /// The kind of the values' bounds: `exact`, `certain`, a probability, `none`.
    pub bounds: String,
    /// What keeps it from being complete, and what else is to be known of it.
    pub reason: Option<String>,
    /// Of a task: how it counted.
    pub task: Option<TaskNote>,
    /// Of the query `totals` of a window: all frames.
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
            status: Status::Complete,
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
    pub fn lacks(&mut self, reason: &str) {
        self.status = Status::Partial;
        self.estimates(reason);
    }

    /// Makes the answer partial, because nothing is known of these times. The reason names the first of them.
    pub fn misses(&mut self, missing: &[Missing]) {
        const NAMED: usize = 3;
        if missing.is_empty() {
            return;
        }
        let mut words: Vec<String> = missing.iter().take(NAMED).map(Missing::to_string).collect();
        if let Some(more) = missing.len().checked_sub(NAMED).filter(|more| *more > 0) {
            words.push(format!("{more} more times"));
        }
        self.lacks(&format!("missing: {}", words.join(", ")));
        missing.iter().for_each(|more| Missing::push(&mut self.missing, *more));
    }

    /// Says something more of it, which leaves it as complete as it is.
    pub fn remark(&mut self, remark: &str) {
        self.reason = Some(match self.reason.take() {
            None => remark.to_owned(),
            Some(others) => format!("{others}; {remark}"),
        });
    }

    /// Says that values are estimates, and how good they are, in words: they have no bounds.
    pub fn estimates(&mut self, how_good: &str) {
        self.remark(how_good);
        if ["exact", "certain"].contains(&&*self.bounds) {
            self.bounds = "none".to_owned();
        }
    }

    /// Keeps the first rows; the others are counted in the rest, and the answer is partial for this reason. Returns how many were left out.
    pub fn shorten(&mut self, most: usize, reason: &str) -> usize {
        let cut = self.list(most);
        if cut > 0 {
            self.lacks(&format!("{cut} rows are left out: {reason}"));
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

    /// Values come of others, too, whose bounds are of this kind: the weaker kind is that of all.
    pub fn join_bounds(&mut self, of_others: &str) {
        // Texts of probabilities differ in the number alone.
        let weakness = |bounds: &str| match bounds {
            "exact" => 0,
            "certain" => 1,
            "none" => 3,
            _ => 2,
        };
        let (own, other) = (weakness(&self.bounds), weakness(of_others));
        if other > own || other == own && *of_others < *self.bounds {
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
