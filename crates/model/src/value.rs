//! A value of an answer.

mod conversation;
mod heaviest;

pub use conversation::Conversation;
pub use heaviest::Heaviest;

use crate::integer::{self, Integer};
use crate::rfc3339::{format_time, parse_time};
use crate::{ColumnKind, prefix};
use flow::FlowKey;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;
use std::net::IpAddr;

/// A value of an answer.
///
/// A value is written as JSON without its type and read back by the kind of its column. Numbers that are not
/// finite are null in JSON: a [`Value::Float`] that is not finite is read back as [`Value::Null`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// The null value.
    #[default]
    Null,
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A floating point number.
    Float(f64),
    /// Text.
    Text(String),
    /// A flow without its direction: a text in JSON, and read back as one.
    Conversation(Conversation),
    /// An address.
    Address(IpAddr),
    /// An address prefix.
    Prefix {
        /// The first address of the prefix.
        address: IpAddr,
        /// The length of the prefix in bits, at most that of the address.
        length: u8,
    },
    /// A time, nanoseconds since the epoch.
    Time(u64),
    /// A value between bounds. The answer's `bounds` states their confidence.
    Estimate {
        /// The most likely value.
        value: f64,
        /// The truth is not less than this; −∞ where nothing is known.
        lower: f64,
        /// The truth is not more than this; ∞ where nothing is known.
        upper: f64,
    },
    /// The values of a field that weigh most.
    Heaviest(Box<Heaviest>),
}

impl From<flow::Estimate> for Value {
    fn from(estimate: flow::Estimate) -> Self {
        let bounds = estimate.bounds.map(|bounds| (bounds.lower, bounds.upper));
        let (lower, upper) = bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Self::Estimate { value: estimate.value, lower, upper }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, T::into)
    }
}

macro_rules! value_from {
    ($($from:ty => $variant:ident),*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}
value_from!(u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned, i64 => Signed, f64 => Float);
value_from!(&str => Text, String => Text, IpAddr => Address);

impl Value {
    /// A member of a flow key by its field name: null if the key lacks it, `None` if no member has this name.
    pub fn from_key(key: &FlowKey, member: &str) -> Option<Self> {
        Some(match member {
            "src_addr" => key.src_addr.into(),
            "dst_addr" => key.dst_addr.into(),
            "protocol" => key.protocol.into(),
            "src_port" => key.src_port.into(),
            "dst_port" => key.dst_port.into(),
            "vlan" => key.vlan.into(),
            "ip_tos" => key.ip_tos.into(),
            _ => return None,
        })
    }

    /// Returns true if a column of this kind may hold the value.
    pub fn fits(&self, kind: ColumnKind) -> bool {
        match self {
            Self::Null | Self::Estimate { .. } => true,
            Self::Unsigned(_) => kind == ColumnKind::Unsigned,
            Self::Signed(_) => kind == ColumnKind::Signed,
            Self::Float(_) => kind == ColumnKind::Float,
            Self::Text(_) | Self::Conversation(_) => kind == ColumnKind::Text,
            Self::Address(_) => kind == ColumnKind::Address,
            Self::Prefix { .. } => kind == ColumnKind::Prefix,
            Self::Time(_) => kind == ColumnKind::Time,
            Self::Heaviest(_) => kind == ColumnKind::Heaviest,
        }
    }

    /// The unsigned integer, if it is one.
    pub fn as_unsigned(&self) -> Option<u64> {
        if let Self::Unsigned(number) = self { Some(*number) } else { None }
    }

    /// The sum of two counts, between bounds where one of them is.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let estimate = |value: &Self| match value {
            Self::Unsigned(number) => Some((*number as f64, *number as f64, *number as f64)),
            Self::Estimate { value, lower, upper } => Some((*value, *lower, *upper)),
            _ => None,
        };
        match (self, other) {
            (Self::Unsigned(own), Self::Unsigned(other)) => Self::Unsigned(own.saturating_add(*other)),
            _ => match (estimate(self), estimate(other)) {
                (Some(own), Some(other)) => {
                    Self::Estimate { value: own.0 + other.0, lower: own.1 + other.1, upper: own.2 + other.2 }
                }
                _ => Self::Null,
            },
        }
    }

    /// Replaces addresses. A prefix keeps its length, and a MAC address becomes null.
    pub fn map_addresses(&mut self, f: &mut dyn FnMut(IpAddr) -> IpAddr) {
        match self {
            Self::Address(address) => *address = f(*address),
            // The bits beyond the length are replaced too, and would look like a host address.
            Self::Prefix { address, length } => *address = prefix::network(f(*address), *length),
            Self::Conversation(conversation) => {
                conversation.ends.iter_mut().for_each(|(address, _)| *address = f(*address));
            }
            Self::Heaviest(heaviest) => {
                heaviest.values.iter_mut().for_each(|(value, _)| value.map_addresses(f));
            }
            // MAC addresses are texts here; records have none either.
            Self::Text(text) if is_mac_address(text) => *self = Self::Null,
            _ => {}
        }
    }

    /// Reads a value whose kind nothing tells: a text that is a number, an address or a prefix is one.
    pub(crate) fn guess(json: &Json) -> Option<Self> {
        let kinds = [ColumnKind::Unsigned, ColumnKind::Address, ColumnKind::Prefix, ColumnKind::Text];
        kinds.iter().find_map(|kind| Self::from_json(json, *kind).ok())
    }

    /// Reads a value of a column of this kind.
    pub(crate) fn from_json(json: &Json, kind: ColumnKind) -> Result<Self, String> {
        let read = match (json, kind) {
            (Json::Null, _) => Some(Self::Null),
            (Json::Object(members), ColumnKind::Heaviest) if members.contains_key("top") => {
                Heaviest::from_json(members).map(|heaviest| Self::Heaviest(Box::new(heaviest)))
            }
            (Json::Object(members), _) => estimate(members),
            (Json::Number(number), ColumnKind::Unsigned) => number.as_u64().map(Self::Unsigned),
            (Json::String(text), ColumnKind::Unsigned) => text.parse().ok().map(Self::Unsigned),
            (Json::Number(number), ColumnKind::Signed) => number.as_i64().map(Self::Signed),
            (Json::String(text), ColumnKind::Signed) => text.parse().ok().map(Self::Signed),
            (Json::Number(number), ColumnKind::Float) => number.as_f64().map(Self::Float),
            (Json::String(text), ColumnKind::Text) => Some(Self::Text(text.clone())),
            (Json::String(text), ColumnKind::Address) => text.parse().ok().map(Self::Address),
            (Json::String(text), ColumnKind::Prefix) => {
                prefix::parse(text).map(|(address, length)| Self::Prefix { address, length })
            }
            (Json::String(text), ColumnKind::Time) => parse_time(text).map(Self::Time),
            _ => None,
        };
        read.ok_or_else(|| format!("{json} is no value of the kind {kind:?}"))
    }
}

/// Reads an estimate. A bound that is null is infinite, a value that is null is not a number.
pub(crate) fn estimate(members: &serde_json::Map<String, Json>) -> Option<Value> {
    let number = |name, missing| match members.get(name)? {
        Json::Null => Some(missing),
        other => other.as_f64(),
    };
    Some(Value::Estimate {
        value: number("value", f64::NAN)?,
        lower: number("lower", f64::NEG_INFINITY)?,
        upper: number("upper", f64::INFINITY)?,
    })
}

/// A number of an estimate or a threshold: an integer if it is whole and exact as a double, null if it is not
/// finite.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct Number(#[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))] pub(crate) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(number) = *self;
        if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
            serializer.serialize_i64(number as i64)
        } else {
            serializer.serialize_f64(number)
        }
    }
}

/// An estimate, with bounds. A number that is not known is null.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Estimate"))]
pub(crate) struct EstimateJson {
    /// The most likely value.
    value: Number,
    /// A number that the truth is not less than.
    lower: Number,
    /// A number that the truth is not more than.
    upper: Number,
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Unsigned(number) => Integer::serialize(number, serializer),
            Self::Signed(number) => integer::serialize_signed(*number, serializer),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Conversation(conversation) => serializer.collect_str(conversation),
            Self::Address(address) => serializer.collect_str(address),
            Self::Prefix { address, length } => serializer.collect_str(&format_args!("{address}/{length}")),
            Self::Time(ns) => serializer.serialize_str(&format_time(*ns)),
            Self::Heaviest(heaviest) => heaviest.serialize(serializer),
            Self::Estimate { value, lower, upper } => {
                let [value, lower, upper] = [value, lower, upper].map(|number| Number(*number));
                EstimateJson { value, lower, upper }.serialize(serializer)
            }
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Value {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A value, as the kind of its column says. Integers beyond 2^53, texts, addresses, prefixes and times are strings.",
            "anyOf": [
                {"type": ["null", "number", "string"]},
                generator.subschema_for::<EstimateJson>(),
                generator.subschema_for::<heaviest::HeaviestJson>(),
            ],
        })
    }
}

/// Returns whether a text is a MAC address in the form that answers use.
fn is_mac_address(text: &str) -> bool {
    let is_octet = |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
    text.len() == 17 && text.split(':').all(is_octet)
}
