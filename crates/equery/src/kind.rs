//! Types and units of values.

use serde::Serialize;
use std::fmt;

/// The unit of a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain number without a unit.
    None,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Nanoseconds.
    Nanoseconds,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Packets per second.
    PacketsPerSecond,
    /// The unit of this name that is none of the others.
    Other(String),
}

impl Unit {
    /// The unit of this name in the field table.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "" => Self::None,
            "bytes" => Self::Bytes,
            "packets" => Self::Packets,
            "ns" => Self::Nanoseconds,
            "bits/s" => Self::BitsPerSecond,
            "bytes/s" => Self::BytesPerSecond,
            "packets/s" => Self::PacketsPerSecond,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns the name of the unit in the field table.
    pub fn name(&self) -> &str {
        match self {
            Self::None => "",
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Nanoseconds => "ns",
            Self::BitsPerSecond => "bits/s",
            Self::BytesPerSecond => "bytes/s",
            Self::PacketsPerSecond => "packets/s",
            Self::Other(name) => name,
        }
    }

    /// Returns true if numbers of both units can be compared and added. A number without a unit takes that of the other, and counts of things
    /// are counts.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let is_count = |unit: &Self| matches!(unit, Self::Bytes | Self::Packets | Self::Other(_));
        self == other || *self == Self::None || *other == Self::None || is_count(self) && is_count(other)
    }

    /// The unit of what is counted in this one, per second.
    pub(crate) fn per_second(&self) -> Self {
        match self {
            Self::Bytes => Self::BytesPerSecond,
            Self::Packets => Self::PacketsPerSecond,
            Self::None => Self::Other("1/s".to_owned()),
            other => Self::Other(format!("{}/s", other.name())),
        }
    }

    /// The unit of a product.
    pub(crate) fn times(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::None, unit) | (unit, Self::None) => unit.clone(),
            _ => Self::Other(format!("{} × {}", self.name(), other.name())),
        }
    }

    /// The unit of a quotient.
    pub(crate) fn over(&self, other: &Self) -> Self {
        match (self, other) {
            (unit, Self::None) => unit.clone(),
            _ if self == other => Self::None,
            _ => Self::Other(format!(
                "{}/{}",
                if *self == Self::None { "1" } else { self.name() },
                other.name()
            )),
        }
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// A number.
    Number(Unit),
    /// A port.
    Port,
    /// An IP protocol.
    Protocol,
    /// A number that names something, or whose bits do: computing with it has no meaning.
    Identifier,
    /// An address, or a prefix of one.
    Address,
    /// A MAC address.
    Mac,
    /// A time, nanoseconds since the epoch.
    Time,
    /// A text.
    Text,
    /// The values of a field that weigh most.
    Top,
    /// An unknown type: of a standing query, or of a query with errors.
    Unknown,
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number(Unit::None) => "a number",
            Self::Number(Unit::Nanoseconds) => "a duration",
            Self::Number(unit) => return write!(f, "a number of {}", unit.name()),
            Self::Port => "a port",
            Self::Protocol => "a protocol",
            Self::Identifier => "a number that is an identifier",
            Self::Address => "an address",
            Self::Mac => "a MAC address",
            Self::Time => "a time",
            Self::Text => "a text",
            Self::Top => "a list of values",
            Self::Unknown => "a value",
        })
    }
}

impl ValueKind {
    /// Returns the name of the type, without the unit.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Number(Unit::Nanoseconds) => "duration",
            Self::Number(_) => "number",
            Self::Port => "port",
            Self::Protocol => "protocol",
            Self::Identifier => "identifier",
            Self::Address => "address",
            Self::Mac => "mac",
            Self::Time => "time",
            Self::Text => "text",
            Self::Top => "list",
            Self::Unknown => "value",
        }
    }

    /// Describes a literal of this type.
    pub(crate) const fn expected(&self) -> &'static str {
        match self {
            Self::Number(Unit::None | Unit::Other(_)) => "a number such as 1000, 10K or 0.5",
            Self::Number(Unit::Bytes) => "a number of bytes such as 10K or 1MiB",
            Self::Number(Unit::Packets) => "a number of packets such as 1000 or 10K",
            Self::Number(Unit::Nanoseconds) => "a duration such as 10ms or 5s",
            Self::Number(Unit::BitsPerSecond | Unit::BytesPerSecond) => "a rate such as 5Mbps",
            Self::Number(Unit::PacketsPerSecond) => "a rate such as 10kpps",
            Self::Port => "a port from 0 to 65535, or a service such as https",
            Self::Protocol => "a protocol such as TCP or 6",
            Self::Identifier => "a whole number",
            Self::Address => "an address such as 10.0.0.1 or a prefix such as 10.0.0.0/8",
            Self::Mac => "a MAC address such as 02:00:5e:10:00:01",
            Self::Time => "a time in quotes such as \"2026-11-01T12:00\"",
            Self::Text => "a text such as 'https'",
            Self::Top | Self::Unknown => "a value",
        }
    }
}
