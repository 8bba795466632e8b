//! Members of JSON that may be null.

use crate::integer::Integer;
use crate::rfc3339::{Time, parse};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A value in the form of `T`, or null.
///
/// An `Option<u64>` with `#[serde(with = "Nullable::<Integer>")]` or `#[serde(with = "Nullable::<Time>")]` is written and read that way.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Nullable<T>(#[cfg_attr(feature = "schema", schemars(with = "Option<T>"))] PhantomData<T>);

impl Nullable<Integer> {
    /// Writes an integer or null.
    ///
    /// # Errors
    /// Returns the errors of the serializer.
    pub fn serialize<S: Serializer>(number: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        number.map(Integer).serialize(serializer)
    }

    /// Reads an integer or null.
    ///
    /// # Errors
    /// Returns the errors of the deserializer, and one if the value is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        Ok(Option::<Integer>::deserialize(deserializer)?.map(|Integer(number)| number))
    }
}

impl Nullable<Time> {
    /// Writes a time or null.
    ///
    /// # Errors
    /// Returns the errors of the serializer.
    pub fn serialize<S: Serializer>(ns: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match ns {
            Some(ns) => Time::serialize(ns, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a time or null.
    ///
    /// # Errors
    /// Returns the errors of the deserializer, and one if the value is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        let text = Option::<Cow<'_, str>>::deserialize(deserializer)?;
        text.map(|text| parse(&text)).transpose()
    }
}
