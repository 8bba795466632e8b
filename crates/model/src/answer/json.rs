//! An answer as JSON.

use super::{Account, Answer, Class, Rest, Status, TaskNote};
use crate::event::{Items, items};
use crate::row::{self, ReadRows, Rows};
use crate::{Column, Counters, Missing, PacketCounts, Sampling, Span, integer};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

/// The members in their order.
#[derive(Serialize)]
struct Written<'a> {
    query: &'a str,
    node: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Items<'a>>,
    window: Option<Span>,
    status: Status,
    #[serde(skip_serializing_if = "is_false")]
    late: bool,
    #[serde(skip_serializing_if = "is_zero", with = "integer")]
    revision: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    watched: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none", with = "integer::option")]
    empty: Option<u64>,
    #[serde(skip_serializing_if = "<[Missing]>::is_empty")]
    missing: &'a [Missing],
    coverage: Option<f64>,
    class: Class,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    levels: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    rows: Rows<'a>,
    rest: &'a Rest,
    bounds: &'a str,
    columns: &'a [Column],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bound_columns: Vec<&'a Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a TaskNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<&'a PacketCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Option<&'a Counters>>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let account = self.account.as_ref();
        let written = Written {
            query: &self.query,
            node: self.node.as_deref(),
            bound: (!self.bound.is_empty()).then_some(Items(&self.bound)),
            window: self.window,
            status: self.status,
            late: self.late,
            revision: self.revision,
            watched: self.watched,
            empty: self.empty,
            missing: &self.missing,
            coverage: self.coverage,
            class: self.class,
            levels: &self.levels,
            sampling: self.sampling,
            rows: Rows { columns: &self.columns, rows: &self.rows },
            rest: &self.rest,
            bounds: &self.bounds,
            columns: &self.columns,
            bound_columns: self.bound.iter().map(|item| &item.column).collect(),
            reason: self.reason.as_deref(),
            task: self.task.as_ref(),
            packets: account.map(|account| &account.packets),
            loss: account.map(|account| account.loss.as_ref()),
        };
        written.serialize(serializer)
    }
}

/// The members as they are read: rows wait for their columns, which may follow later.
#[derive(Deserialize)]
struct Read {
    query: String,
    node: Option<String>,
    #[serde(default)]
    bound: Map<String, Json>,
    window: Option<Span>,
    status: Status,
    #[serde(default)]
    late: bool,
    #[serde(default, with = "integer")]
    revision: u64,
    watched: Option<Span>,
    #[serde(default, with = "integer::option")]
    empty: Option<u64>,
    #[serde(default)]
    missing: Vec<Missing>,
    coverage: Option<f64>,
    class: Class,
    #[serde(default)]
    levels: Vec<String>,
    sampling: Option<Sampling>,
    rows: ReadRows,
    rest: Rest,
    bounds: String,
    columns: Vec<Column>,
    #[serde(default)]
    bound_columns: Vec<Column>,
    reason: Option<String>,
    task: Option<TaskNote>,
    packets: Option<PacketCounts>,
    loss: Option<Counters>,
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Read::deserialize(deserializer)?;
        // What is read can be written again.
        row::check_names(&read.columns).map_err(D::Error::custom)?;
        let rows = read.rows.of(&read.columns).map_err(D::Error::custom)?;
        let bound = items(read.bound_columns, &read.bound).map_err(D::Error::custom)?;
        let loss = read.loss;
        Ok(Self {
            query: read.query,
            node: read.node,
            bound,
            window: read.window,
            status: read.status,
            late: read.late,
            revision: read.revision,
            watched: read.watched,
            empty: read.empty,
            missing: read.missing,
            coverage: read.coverage,
            class: read.class,
            levels: read.levels,
            sampling: read.sampling,
            columns: read.columns,
            rows,
            rest: read.rest,
            bounds: read.bounds,
            reason: read.reason,
            task: read.task,
            account: read.packets.map(|packets| Account { packets, loss }),
        })
    }
}
