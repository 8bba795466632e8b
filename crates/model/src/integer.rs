//! Unsigned integers in JSON: beyond 2⁵³ they are strings, because many readers hold numbers as doubles (RFC 8259,
//! section 6).

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The limit below which a double represents every integer.
const EXACT: u64 = 1 << 53;

/// An unsigned integer of 64 bits. One beyond 2^53 is a string of digits.
///
/// A `u64` with `#[serde(with = "Integer")]` is written and read that way.
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(extend("anyOf" = [
        {"type": "integer", "minimum": 0, "maximum": EXACT},
        {"type": "string", "pattern": "^[1-9][0-9]{15,19}$"},
    ]))
)]
pub struct Integer(#[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))] pub u64);

impl Integer {
    /// Writes an integer.
    ///
    /// # Errors
    /// Returns the errors of the serializer.
    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        if *number <= EXACT { serializer.serialize_u64(*number) } else { serializer.collect_str(number) }
    }

    /// Reads an integer, as a number or as a string.
    ///
    /// # Errors
    /// Returns the errors of the deserializer, and one if the value is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(IntegerVisitor)
    }
}

impl Serialize for Integer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer).map(Self)
    }
}

/// An unsigned integer of 64 bits that is not zero.
///
/// A `u64` with `#[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]` is written as an [`Integer`] where it is
/// not 0, and left out where it is.
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(extend("anyOf" = [
        {"type": "integer", "minimum": 1, "maximum": EXACT},
        {"type": "string", "pattern": "^[1-9][0-9]{15,19}$"},
    ]))
)]
pub struct Positive(#[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))] pub u64);

impl Positive {
    /// Returns whether a member is left out because it is 0.
    pub fn is_zero(number: &u64) -> bool {
        *number == 0
    }

    /// Writes an integer.
    ///
    /// # Errors
    /// Returns the errors of the serializer.
    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        Integer::serialize(number, serializer)
    }

    /// Reads an integer, as a number or as a string.
    ///
    /// # Errors
    /// Returns the errors of the deserializer, and one if the value is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Integer::deserialize(deserializer)
    }
}

/// Writes a signed integer.
pub(crate) fn serialize_signed<S: Serializer>(number: i64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.unsigned_abs() <= EXACT {
        serializer.serialize_i64(number)
    } else {
        serializer.collect_str(&number)
    }
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
