//! The columns of an answer, and the types of their values.

use serde::{Deserialize, Serialize};

/// The type of the values of a column, by which their JSON is read back. Any of them may also be null or an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Unsigned integers of 64 bits.
    Unsigned,
    /// Signed integers of 64 bits.
    Signed,
    /// Floating point numbers.
    Float,
    /// Texts.
    Text,
    /// IPv4 and IPv6 addresses.
    Address,
    /// Address prefixes.
    Prefix,
    /// Times.
    Time,
    /// Values with bounds.
    Estimate,
    /// The heaviest values of a field, each with its weight.
    Heaviest,
}

/// A column of an answer.
///
/// Any column may hold nulls, and estimates instead of its own values: a count, for instance, is exact as long as memory suffices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Column {
    /// The name of the member in each row, unique within the answer.
    pub name: String,
    /// The type of the values.
    pub kind: ColumnKind,
    /// The unit of the values; empty where there is none.
    pub unit: String,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, kind: ColumnKind, unit: impl Into<String>) -> Self {
        Self { name: name.into(), kind, unit: unit.into() }
    }

    /// The column of a field of the field table.
    pub fn from_field(field: &flow::Field) -> Self {
        let kind = match field.value {
            flow::FieldAccessor::Unsigned(..) | flow::FieldAccessor::Optional(..) => ColumnKind::Unsigned,
            flow::FieldAccessor::Time(_) => ColumnKind::Time,
            flow::FieldAccessor::Address(_) => ColumnKind::Address,
            flow::FieldAccessor::Mac(_) | flow::FieldAccessor::EndReason(_) | flow::FieldAccessor::Node => {
                ColumnKind::Text
            }
            flow::FieldAccessor::Float(_) => ColumnKind::Float,
        };
        // A time is text in JSON: its unit is that of the file formats.
        let unit = if kind == ColumnKind::Time { "" } else { field.unit };
        Self::new(field.name, kind, unit)
    }
}
