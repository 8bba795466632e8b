//! Names of sources as JSON: one name, or a list of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    match names {
        [one] => serializer.serialize_str(one),
        all => all.serialize(serializer),
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a name or a list of names")]
enum Read {
    One(String),
    List(Vec<String>),
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Read::deserialize(deserializer)? {
        Read::One(name) => vec![name],
        Read::List(names) => names,
    })
}
