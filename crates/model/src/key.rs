//! A key within an object, as events write it: `key` has its members by name, `columns` the kind and unit of each.

use crate::column::Column;
use crate::event::{Item, Items, columns, items};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;

/// `I` has the items: as they are written, or as they are read before their columns are known.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct KeyJson<'a, I> {
    /// The members of the key, by the names of their columns.
    key: I,
    /// The name, the kind and the unit of each member of `key`.
    columns: Vec<Cow<'a, Column>>,
}

/// The members of a key within a larger object: `#[serde(flatten, with = "Key")]`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FlattenedKey(#[cfg_attr(feature = "schema", schemars(with = "KeyJson<Items>"))] ());

impl FlattenedKey {
    pub(crate) fn serialize<S: Serializer>(key: &[Item], serializer: S) -> Result<S::Ok, S::Error> {
        KeyJson { key: Items(key), columns: columns(key) }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Item>, D::Error> {
        let read = KeyJson::<Map<String, Json>>::deserialize(deserializer)?;
        items(read.columns, &read.key).map_err(D::Error::custom)
    }
}
