//! Keys of groups.

use model::{Column, Item, Value};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A member of a key: a value that can be ordered and compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Member {
    /// The value is null.
    Null,
    /// An integer.
    Unsigned(u64),
    /// An integer that may be negative.
    Signed(i64),
    /// The bits of a floating point number.
    Float(u64),
    /// A time, nanoseconds since the epoch.
    Time(u64),
    /// An address.
    Address(IpAddr),
    /// A prefix and its length.
    Prefix(IpAddr, u8),
    /// A text.
    Text(String),
}

impl From<&Value> for Member {
    fn from(value: &Value) -> Self {
        match value {
            Value::Unsigned(number) => Self::Unsigned(*number),
            Value::Signed(number) => Self::Signed(*number),
            Value::Float(number) => Self::Float(number.to_bits()),
            Value::Estimate { value, .. } => Self::Float(value.to_bits()),
            Value::Time(ns) => Self::Time(*ns),
            Value::Address(address) => Self::Address(*address),
            Value::Prefix { address, length } => Self::Prefix(*address, *length),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Conversation(conversation) => Self::Text(conversation.to_string()),
            Value::Null | Value::Heaviest(_) => Self::Null,
        }
    }
}

impl From<&Member> for Value {
    fn from(member: &Member) -> Self {
        match member {
            Member::Null => Self::Null,
            Member::Unsigned(number) => Self::Unsigned(*number),
            Member::Signed(number) => Self::Signed(*number),
            Member::Float(bits) => Self::Float(f64::from_bits(*bits)),
            Member::Time(ns) => Self::Time(*ns),
            Member::Address(address) => Self::Address(*address),
            Member::Prefix(address, length) => Self::Prefix { address: *address, length: *length },
            Member::Text(text) => Self::Text(text.clone()),
        }
    }
}

/// The key of a group: a member for each field that a query groups by.
pub type EventKey = Vec<Member>;

/// The key as named values.
pub fn items<'a>(key: &'a EventKey, columns: impl Iterator<Item = &'a Column>) -> Vec<Item> {
    columns.zip(key).map(|(column, member)| Item { column: column.clone(), value: member.into() }).collect()
}
