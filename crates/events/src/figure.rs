//! Figures: the columns of a group, as far as they are known.

use crate::interval::Interval;
use model::Value;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A value, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundedValue {
    /// A number between bounds.
    Number(Interval),
    /// Something else, exactly.
    Other(Value),
    /// The value is null.
    Null,
    /// The value is not known.
    Unknown,
}

/// The role of a column, which decides what absence and incomplete windows say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnRole {
    /// A member of the group's key: always exact.
    Key,
    /// A sum or a count: 0 of a group that is absent, and not less in the whole of a window that was watched in part.
    Total,
    /// A sum of what may be negative: 0 of a group that is absent.
    Net,
    /// A total per second of the time watched: 0 of a group that is absent.
    Rate,
    /// A least value.
    Least,
    /// A greatest value.
    Greatest,
    /// A value whose own bounds have whatever is not known of it, however much of the window was watched.
    Bounded,
    /// A value of any other kind.
    Other,
}

/// The part of a window that the figures of a group cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The figures cover all of the window.
    Whole,
    /// The window was watched in part, and all that was watched is counted.
    Cut,
    /// Something that was watched is not counted.
    Partial,
}

impl BoundedValue {
    /// A value of an answer.
    pub fn from_value(value: &Value, role: ColumnRole, certainty: Certainty) -> Self {
        let number = match value {
            Value::Null => {
                return match (role, certainty) {
                    (ColumnRole::Key | ColumnRole::Bounded, _)
                    | (_, Certainty::Whole)
                    | (ColumnRole::Rate, Certainty::Cut) => Self::Null,
                    // What is not in the answer may have a value.
                    _ => Self::Unknown,
                };
            }
            Value::Unsigned(number) => Interval::integer((*number).into()),
            Value::Signed(number) => Interval::integer((*number).into()),
            Value::Time(ns) => Interval::integer((*ns).into()),
            Value::Float(number) => Interval::exact(*number),
            Value::Estimate { lower, upper, .. } => Interval { lower: *lower, upper: *upper },
            other => {
                return match (role, certainty) {
                    (ColumnRole::Key | ColumnRole::Bounded, _) | (_, Certainty::Whole) => {
                        Self::Other(other.clone())
                    }
                    _ => Self::Unknown,
                };
            }
        };
        Self::Number(match (role, certainty) {
            (ColumnRole::Key | ColumnRole::Bounded, _)
            | (_, Certainty::Whole)
            | (ColumnRole::Rate, Certainty::Cut) => number,
            (ColumnRole::Total | ColumnRole::Greatest | ColumnRole::Rate, _) => number.or_more(),
            (ColumnRole::Least, _) => number.or_less(),
            (ColumnRole::Net | ColumnRole::Other, _) => return Self::Unknown,
        })
    }

    /// Returns the figure of a group that is not in an answer that is certain to have it if it had packets.
    pub fn absent(role: ColumnRole) -> Self {
        match role {
            ColumnRole::Total | ColumnRole::Net | ColumnRole::Rate => Self::Number(Interval::exact(0.0)),
            _ => Self::Null,
        }
    }

    /// Returns the figure of a group that is not in the answer and may have had packets, at most `most`.
    pub fn unlisted(role: ColumnRole, most: f64) -> Self {
        match role {
            ColumnRole::Total | ColumnRole::Rate => Self::Number(Interval { lower: 0.0, upper: most }),
            _ => Self::Unknown,
        }
    }

    /// The address, or the prefix and its length.
    pub(crate) fn address(&self) -> Option<(IpAddr, u8)> {
        match self {
            Self::Other(Value::Address(address)) => {
                Some((*address, if address.is_ipv4() { 32 } else { 128 }))
            }
            Self::Other(Value::Prefix { address, length }) => Some((*address, *length)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_watched_in_part_is_a_bound() {
        let of = |role, certainty| BoundedValue::from_value(&Value::Unsigned(5), role, certainty);
        let number = |lower, upper| BoundedValue::Number(Interval { lower, upper });
        let (none, all) = (f64::NEG_INFINITY, f64::INFINITY);
        for (role, cut, partial) in [
            (ColumnRole::Key, number(5.0, 5.0), number(5.0, 5.0)),
            (ColumnRole::Total, number(5.0, all), number(5.0, all)),
            (ColumnRole::Rate, number(5.0, 5.0), number(5.0, all)),
            (ColumnRole::Least, number(none, 5.0), number(none, 5.0)),
            (ColumnRole::Greatest, number(5.0, all), number(5.0, all)),
            (ColumnRole::Net, BoundedValue::Unknown, BoundedValue::Unknown),
            (ColumnRole::Other, BoundedValue::Unknown, BoundedValue::Unknown),
        ] {
            assert_eq!(of(role, Certainty::Whole), number(5.0, 5.0));
            assert_eq!((of(role, Certainty::Cut), of(role, Certainty::Partial)), (cut, partial), "{role:?}");
        }
        let estimate = Value::Estimate { value: 5.0, lower: 4.0, upper: 9.0 };
        assert_eq!(
            BoundedValue::from_value(&estimate, ColumnRole::Total, Certainty::Whole),
            number(4.0, 9.0)
        );
        for certainty in [Certainty::Cut, Certainty::Partial] {
            assert_eq!(
                BoundedValue::from_value(&Value::Null, ColumnRole::Greatest, certainty),
                BoundedValue::Unknown
            );
            assert_eq!(
                BoundedValue::from_value(&Value::Null, ColumnRole::Key, certainty),
                BoundedValue::Null
            );
        }
        assert_eq!(
            BoundedValue::from_value(&Value::Null, ColumnRole::Greatest, Certainty::Whole),
            BoundedValue::Null
        );
    }
}
