//! Groups that are not among the rows of an answer.

use crate::integer::Integer;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

const GROUPS: &str = "groups";

/// Groups beyond an answer's limit, and the totals of their counts and sums. JSON: one object, `groups` first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Their number.
    pub groups: u64,
    /// Totals by the names of the columns. A column named `groups` is omitted, because the name is used.
    pub totals: Vec<(String, u64)>,
}

impl Serialize for Rest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(GROUPS, &Integer(self.groups))?;
        for (name, total) in self.totals.iter().filter(|(name, _)| name != GROUPS) {
            map.serialize_entry(name, &Integer(*total))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Rest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RestVisitor)
    }
}

struct RestVisitor;

impl<'de> Visitor<'de> for RestVisitor {
    type Value = Rest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the member groups and totals")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Rest, A::Error> {
        let (mut groups, mut totals) = (None, Vec::new());
        while let Some((name, Integer(total))) = map.next_entry::<String, Integer>()? {
            if name == GROUPS {
                groups = Some(total);
            } else {
                totals.push((name, total));
            }
        }
        let groups = groups.ok_or_else(|| A::Error::missing_field(GROUPS))?;
        Ok(Rest { groups, totals })
    }
}
