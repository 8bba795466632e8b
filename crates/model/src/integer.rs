//! Unsigned integers in JSON: beyond 2⁵³ they are strings, because many readers hold numbers as doubles (RFC 8259,
//! section 6).
//!
//! A field with `#[serde(with = "integer")]` is written and read that way.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The limit below which a double represents every integer.
const EXACT: u64 = 1 << 53;

/// An unsigned integer.
pub(crate) struct Integer(pub(crate) u64);

impl Serialize for Integer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

/// Whether a member is left out that stands only where it is not 0.
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Writes an integer.
pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *number <= EXACT { serializer.serialize_u64(*number) } else { serializer.collect_str(number) }
}

/// Writes a signed integer.
pub(crate) fn serialize_signed<S: Serializer>(number: i64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.unsigned_abs() <= EXACT {
        serializer.serialize_i64(number)
    } else {
        serializer.collect_str(&number)
    }
}

/// Reads an integer, as a number or as a string.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(IntegerVisitor)
}

struct IntegerVisitor;

impl Visitor<'_> for IntegerVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an unsigned integer, as a number or a string")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        number.try_into().map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// The same of a member that may be null.
pub mod option {
    use super::{Deserialize, Deserializer, Integer, Serialize, Serializer};

    /// Writes an integer or null.
    pub fn serialize<S: Serializer>(number: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        number.map(Integer).serialize(serializer)
    }

    /// Reads an integer or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        Ok(Option::<Integer>::deserialize(deserializer)?.map(|Integer(number)| number))
    }
}
