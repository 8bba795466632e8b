//! The values that weigh most, and what all others weigh.

use super::Value;
use crate::Integer;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

/// The values of a field that weigh most, the heaviest first, and the weight of all others.
///
/// JSON: `{"top": [{"value", "weight"}, …], "rest": {"values", "weight"}}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heaviest {
    /// The heaviest values, each with its weight.
    pub values: Vec<(Value, u64)>,
    /// The number of all other values.
    pub rest_values: u64,
    /// The weight of all other values together.
    pub rest_weight: u64,
}

/// The values of a field that weigh most, and the weight of all others.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Heaviest"))]
pub(super) struct HeaviestJson<'a> {
    /// The values that weigh most, the heaviest first.
    top: Vec<WeightedValue<'a>>,
    /// The number and the weight of all other values.
    rest: Others,
}

/// A value and its weight.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct WeightedValue<'a> {
    /// The value.
    #[cfg_attr(feature = "schema", schemars(with = "Json", extend("type" = ["null", "number", "string"])))]
    value: &'a Value,
    /// The weight of the value.
    #[serde(with = "Integer")]
    weight: u64,
}

/// The values that are not named.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Others {
    /// The number of these values.
    #[serde(with = "Integer")]
    values: u64,
    /// The weight of these values together.
    #[serde(with = "Integer")]
    weight: u64,
}

impl Serialize for Heaviest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let top =
            self.values.iter().map(|(value, weight)| WeightedValue { value, weight: *weight }).collect();
        let rest = Others { values: self.rest_values, weight: self.rest_weight };
        HeaviestJson { top, rest }.serialize(serializer)
    }
}

impl Heaviest {
    /// Reads the members of an object. Texts that are numbers, addresses or prefixes are read as these.
    pub(crate) fn from_json(members: &Map<String, Json>) -> Option<Self> {
        let rest = members.get("rest")?.as_object()?;
        let entries = members.get("top")?.as_array()?.iter().map(|entry| {
            let entry = entry.as_object()?;
            Some((Value::guess(entry.get("value")?)?, integer_of(entry.get("weight")?)?))
        });
        Some(Self {
            values: entries.collect::<Option<_>>()?,
            rest_values: integer_of(rest.get("values")?)?,
            rest_weight: integer_of(rest.get("weight")?)?,
        })
    }
}

fn integer_of(json: &Json) -> Option<u64> {
    match json {
        Json::String(text) => text.parse().ok(),
        number => number.as_u64(),
    }
}
