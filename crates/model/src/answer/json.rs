//! An answer as JSON.

use super::{Account, Answer, AnswerStatus, Class, Rest, TaskNote};
use crate::event::{Items, columns, items};
use crate::row::{self, JsonRows, ReadRows};
use crate::{Column, Counters, Integer, Missing, Nullable, PacketCounts, Positive, Sampling, Span};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::ops::Not;

/// The members in their order. `I` has the items and `R` the rows: as they are written, or as they are read before their columns are known.
#[derive(Serialize, Deserialize)]
struct AnswerJson<'a, I, R> {
    query: Cow<'a, str>,
    node: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<I>,
    window: Option<Span>,
    status: AnswerStatus,
    #[serde(default, skip_serializing_if = "<&bool>::not")]
    late: bool,
    #[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]
    revision: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    watched: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Nullable::<Integer>")]
    empty: Option<u64>,
    #[serde(default, skip_serializing_if = "<[Missing]>::is_empty")]
    missing: Cow<'a, [Missing]>,
    coverage: Option<f64>,
    class: Class,
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    levels: Cow<'a, [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    rows: R,
    rest: Cow<'a, Rest>,
    bounds: Cow<'a, str>,
    columns: Cow<'a, [Column]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bound_columns: Vec<Cow<'a, Column>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<Cow<'a, TaskNote>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<Cow<'a, PacketCounts>>,
    /// The counters of loss, present with `packets`; null where the source cannot count its loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Option<Cow<'a, Counters>>>,
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let account = self.account.as_ref();
        let json = AnswerJson {
            query: Cow::Borrowed(&*self.query),
            node: self.node.as_deref().map(Cow::Borrowed),
            bound: (!self.bound.is_empty()).then_some(Items(&self.bound)),
            window: self.window,
            status: self.status,
            late: self.late,
            revision: self.revision,
            watched: self.watched,
            empty: self.empty,
            missing: Cow::Borrowed(&*self.missing),
            coverage: self.coverage,
            class: self.class,
            levels: Cow::Borrowed(&*self.levels),
            sampling: self.sampling,
            rows: JsonRows { columns: &self.columns, rows: &self.rows },
            rest: Cow::Borrowed(&self.rest),
            bounds: Cow::Borrowed(&*self.bounds),
            columns: Cow::Borrowed(&*self.columns),
            bound_columns: columns(&self.bound),
            reason: self.reason.as_deref().map(Cow::Borrowed),
            task: self.task.as_ref().map(Cow::Borrowed),
            packets: account.map(|account| Cow::Borrowed(&account.packets)),
            loss: account.map(|account| account.loss.as_ref().map(Cow::Borrowed)),
        };
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = AnswerJson::<Map<String, Json>, ReadRows>::deserialize(deserializer)?;
        // What is read can be written again.
        row::check_names(&read.columns).map_err(D::Error::custom)?;
        let rows = read.rows.arrange(&read.columns).map_err(D::Error::custom)?;
        let bound = items(read.bound_columns, &read.bound.unwrap_or_default()).map_err(D::Error::custom)?;
        let loss = read.loss.flatten().map(Cow::into_owned);
        let account = |packets: Cow<'_, PacketCounts>| Account { packets: packets.into_owned(), loss };
        Ok(Self {
            query: read.query.into_owned(),
            node: read.node.map(Cow::into_owned),
            bound,
            window: read.window,
            status: read.status,
            late: read.late,
            revision: read.revision,
            watched: read.watched,
            empty: read.empty,
            missing: read.missing.into_owned(),
            coverage: read.coverage,
            class: read.class,
            levels: read.levels.into_owned(),
            sampling: read.sampling,
            columns: read.columns.into_owned(),
            rows,
            rest: read.rest.into_owned(),
            bounds: read.bounds.into_owned(),
            reason: read.reason.map(Cow::into_owned),
            task: read.task.map(Cow::into_owned),
            account: read.packets.map(account),
        })
    }
}
