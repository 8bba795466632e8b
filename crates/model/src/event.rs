//! Events: what standing queries report when their conditions change.

use crate::value::Number;
use crate::{Column, Span, Time, Value};
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::net::IpAddr;

/// The change that an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Kind"))]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A condition became true.
    Fired,
    /// The condition is false again.
    Resolved,
    /// The condition is unknown, because too many windows are missing.
    NoData,
    /// A chain did not end within its time.
    Timeout,
    /// A key was not seen for many windows.
    Expired,
    /// Too many keys fired at once; this one starts no query.
    Suppressed,
    /// The task arrived too late for its window.
    Missed,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Fired,
        Self::Resolved,
        Self::NoData,
        Self::Timeout,
        Self::Expired,
        Self::Suppressed,
        Self::Missed,
    ];

    /// Returns the name of the kind in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Resolved => "resolved",
            Self::NoData => "nodata",
            Self::Timeout => "timeout",
            Self::Expired => "expired",
            Self::Suppressed => "suppressed",
            Self::Missed => "missed",
        }
    }
}

/// A named value of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The name, kind and unit of the value.
    pub column: Column,
    /// The value.
    pub value: Value,
}

/// A change of the state of a standing query, for one key and node.
///
/// JSON: an object with these members in this order, and then `columns`: the kind and unit of each member of `key`, then of each of
/// `values`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema_forms::event))]
pub struct Event {
    /// The identifier of the event, a hash of query, version, key, node and window: the same in every run.
    pub event: String,
    /// The change.
    pub kind: EventKind,
    /// The query whose state changed.
    pub query: String,
    /// The query whose answer caused it, of several `a, b`; `None` if it is the query itself.
    pub fired_by: Option<String>,
    /// The group: a member for each field of `groupby`.
    #[cfg_attr(feature = "schema", schemars(with = "Items"))]
    pub key: Vec<Item>,
    /// The name of the observation point; `None` for answers across nodes.
    pub node: Option<String>,
    /// The stream time of the event, which is the end of its window.
    #[cfg_attr(feature = "schema", schemars(rename = "at", with = "Time"))]
    pub at_ns: u64,
    /// The window.
    pub window: Option<Span>,
    /// The values of the condition, by column.
    #[cfg_attr(feature = "schema", schemars(with = "Items"))]
    pub values: Vec<Item>,
    /// The number that the values were compared with; `None` where it is not one number.
    pub threshold: Option<f64>,
    /// True if the window was late.
    pub late: bool,
    /// The coverage of the answer; `None` if the source cannot count its loss.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub coverage: Option<f64>,
    /// The bounds of the values, in words, where these are estimates: `certain`, `each with a probability of 0.950`, or `none`.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub bounds: Option<String>,
    /// The event that started the query; `None` if none did.
    pub parent: Option<String>,
    /// The event in a sentence that names no query: what the query says of its firing, or its condition in words. What ends a firing has the title of
    /// that firing. Events that a version without titles has stored lack it.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub title: Option<String>,
}

/// An item is written as JSON as its column and its value.
impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.column, &self.value).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (column, json) = <(Column, Json)>::deserialize(deserializer)?;
        let value = Value::from_json(&json, column.kind).map_err(D::Error::custom)?;
        Ok(Self { column, value })
    }
}

impl Event {
    /// Replaces addresses in the key and in the values. The title is dropped, as it is text with addresses in it.
    pub fn map_addresses(&mut self, f: &mut dyn FnMut(IpAddr) -> IpAddr) {
        self.title = None;
        self.key.iter_mut().chain(&mut self.values).for_each(|item| item.value.map_addresses(f));
    }
}

/// The members of an event's JSON, in their order. `I` has the items: as they are written, or as they are read before their columns are known.
#[derive(Serialize, Deserialize)]
struct EventJson<'a, I> {
    event: Cow<'a, str>,
    kind: EventKind,
    query: Cow<'a, str>,
    fired_by: Option<Cow<'a, str>>,
    key: I,
    node: Option<Cow<'a, str>>,
    #[serde(with = "Time")]
    at: u64,
    window: Option<Span>,
    values: I,
    threshold: Option<Number>,
    late: bool,
    coverage: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bounds: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
    // Events of versions without titles are written as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<Cow<'a, str>>,
    columns: Vec<Cow<'a, Column>>,
}

/// Values, by the names of their columns.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Values"))]
pub(crate) struct Items<'a>(
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, Value>"))]
    pub(crate)  &'a [Item],
);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for Item { column, value } in self.0 {
            map.serialize_entry(&column.name, value)?;
        }
        map.end()
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = EventJson {
            event: Cow::Borrowed(&*self.event),
            kind: self.kind,
            query: Cow::Borrowed(&*self.query),
            fired_by: self.fired_by.as_deref().map(Cow::Borrowed),
            key: Items(&self.key),
            node: self.node.as_deref().map(Cow::Borrowed),
            at: self.at_ns,
            window: self.window,
            values: Items(&self.values),
            threshold: self.threshold.map(Number),
            late: self.late,
            coverage: self.coverage,
            bounds: self.bounds.as_deref().map(Cow::Borrowed),
            parent: self.parent.as_deref().map(Cow::Borrowed),
            title: self.title.as_deref().map(Cow::Borrowed),
            columns: columns(self.key.iter().chain(&self.values)),
        };
        json.serialize(serializer)
    }
}

/// The columns of items.
pub(crate) fn columns<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Cow<'a, Column>> {
    items.into_iter().map(|item| Cow::Borrowed(&item.column)).collect()
}

/// Items of an object, by their columns.
pub(crate) fn items<'a>(
    columns: impl IntoIterator<Item = Cow<'a, Column>>,
    members: &Map<String, Json>,
) -> Result<Vec<Item>, String> {
    let item = |column: Cow<'_, Column>| {
        let json = members.get(&column.name).ok_or_else(|| format!("{} has no value", column.name))?;
        Ok(Item { value: Value::from_json(json, column.kind)?, column: column.into_owned() })
    };
    columns.into_iter().map(item).collect()
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = EventJson::<Map<String, Json>>::deserialize(deserializer)?;
        let mut columns = read.columns;
        if columns.len() != read.key.len() + read.values.len() {
            return Err(D::Error::custom("the event does not have a column for each value"));
        }
        let of_values = columns.split_off(read.key.len());
        Ok(Self {
            event: read.event.into_owned(),
            kind: read.kind,
            query: read.query.into_owned(),
            fired_by: read.fired_by.map(Cow::into_owned),
            key: items(columns, &read.key).map_err(D::Error::custom)?,
            node: read.node.map(Cow::into_owned),
            at_ns: read.at,
            window: read.window,
            values: items(of_values, &read.values).map_err(D::Error::custom)?,
            threshold: read.threshold.map(|Number(threshold)| threshold),
            late: read.late,
            coverage: read.coverage,
            bounds: read.bounds.map(Cow::into_owned),
            parent: read.parent.map(Cow::into_owned),
            title: read.title.map(Cow::into_owned),
        })
    }
}
