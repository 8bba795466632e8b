//! Groups that are not among the rows of an answer.

use crate::Value;
use crate::integer::Integer;
use crate::value::estimate;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use std::fmt;

const GROUPS: &str = "groups";

/// The groups that are in no row of an answer, and the totals of their counts and sums.
///
/// JSON: one object, `groups` first, which is null where their number is not known.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rest {
    /// The number of groups, null where it is not known.
    ///
    /// Here it is the least number then.
    #[cfg_attr(feature = "schema", schemars(with = "crate::Nullable<Integer>"))]
    pub groups: u64,
    /// True where there may be more groups than this.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub is_open: bool,
    /// The totals by the names of the columns. A column named `groups` is omitted, because the name is used.
    #[cfg_attr(
        feature = "schema",
        schemars(flatten, with = "std::collections::BTreeMap<String, crate::schema_forms::Total>")
    )]
    pub totals: Vec<(String, Value)>,
}

impl Rest {
    /// Notes that there is an unknown number of groups, one at least.
    pub fn open(&mut self) {
        self.groups = self.groups.max(1);
        self.is_open = true;
    }
}

impl Serialize for Rest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(GROUPS, &(!self.is_open).then_some(Integer(self.groups)))?;
        for (name, total) in self.totals.iter().filter(|(name, _)| name != GROUPS) {
            map.serialize_entry(name, total)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Rest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RestVisitor)
    }
}

/// Reads a number or a value between bounds: a whole one that is not negative is unsigned, also where it is a text because it is large.
fn number(json: &Json) -> Option<Value> {
    match json {
        Json::String(text) => {
            let signed = || text.parse().ok().map(Value::Signed);
            text.parse().ok().map(Value::Unsigned).or_else(signed)
        }
        Json::Null => Some(Value::Null),
        Json::Number(number) => {
            let signed = || number.as_i64().map(Value::Signed);
            let float = || number.as_f64().map(Value::Float);
            number.as_u64().map(Value::Unsigned).or_else(signed).or_else(float)
        }
        Json::Object(members) => estimate(members),
        _ => None,
    }
}

struct RestVisitor;

impl<'de> Visitor<'de> for RestVisitor {
    type Value = Rest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the member groups and totals")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Rest, A::Error> {
        let (mut groups, mut totals): (Option<Option<Integer>>, _) = (None, Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            if name == GROUPS {
                groups = Some(map.next_value()?);
            } else {
                let total = map.next_value()?;
                let number =
                    number(&total).ok_or_else(|| A::Error::custom(format!("{total} is no total")))?;
                totals.push((name, number));
            }
        }
        let groups = groups.ok_or_else(|| A::Error::missing_field(GROUPS))?;
        let mut rest = Rest { groups: 0, is_open: false, totals };
        match groups {
            Some(Integer(groups)) => rest.groups = groups,
            None => rest.open(),
        }
        Ok(rest)
    }
}
