//! A key within an object, as events write it: `key` has its members by name, `columns` the kind and unit of each.

use crate::column::Column;
use crate::event::{Item, Items, items};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

#[derive(Serialize)]
struct Written<'a> {
    key: Items<'a>,
    columns: Vec<&'a Column>,
}

#[derive(Deserialize)]
struct Read {
    key: Map<String, Json>,
    columns: Vec<Column>,
}

/// For `#[serde(flatten, with = "model::key")]`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(key: &[Item], serializer: S) -> Result<S::Ok, S::Error> {
    Written { key: Items(key), columns: key.iter().map(|item| &item.column).collect() }.serialize(serializer)
}

/// For `#[serde(flatten, with = "model::key")]`.
///
/// # Errors
/// Those of the deserializer, and if a column has no member or one of another kind.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Item>, D::Error> {
    let read = Read::deserialize(deserializer)?;
    items(read.columns, &read.key).map_err(D::Error::custom)
}
