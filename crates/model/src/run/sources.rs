//! Names of sources as JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name, or a list of names: for `#[serde(with = "Sources")]`.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(untagged, expecting = "a name or a list of names")]
pub(super) enum Sources {
    One(String),
    List(Vec<String>),
}

impl Sources {
    pub(super) fn serialize<S: Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
        match names {
            [one] => serializer.serialize_str(one),
            all => all.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
        Ok(match Deserialize::deserialize(deserializer)? {
            Self::One(name) => vec![name],
            Self::List(names) => names,
        })
    }
}
