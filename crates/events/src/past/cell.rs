//! A value that is kept.

use crate::interval::Interval;
use crate::known::{Known, Number};
use serde::{Deserialize, Serialize};

/// A number, or its absence, in two words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Cell {
    /// The value is null.
    #[serde(rename = "n")]
    Null,
    /// The value may be anything.
    #[serde(rename = "u")]
    Unknown,
    /// An integer.
    #[serde(rename = "i")]
    Unsigned(u64),
    /// An integer that may be negative.
    #[serde(rename = "s")]
    Signed(i64),
    /// The bits of a number.
    #[serde(rename = "f")]
    Float(u64),
    /// The bits of a value and its bounds.
    #[serde(rename = "b")]
    Between(Box<[u64; 3]>),
}

impl Cell {
    pub(crate) fn of(known: &Known) -> Self {
        let Known::Number(number) = known else {
            return if *known == Known::Null { Self::Null } else { Self::Unknown };
        };
        match number.exact() {
            Some(exact) => match (u64::try_from(exact), i64::try_from(exact)) {
                (Ok(exact), _) => Self::Unsigned(exact),
                (_, Ok(exact)) => Self::Signed(exact),
                _ => Self::Unknown,
            },
            None if number.is_plain() => Self::Float(number.likely().to_bits()),
            None => {
                let Interval { lower, upper } = number.bounds();
                Self::Between(Box::new([number.likely(), lower, upper].map(f64::to_bits)))
            }
        }
    }

    pub(crate) fn known(&self) -> Known {
        Known::Number(match self {
            Self::Null => return Known::Null,
            Self::Unknown => return Known::Unknown,
            Self::Unsigned(number) => Number::integer((*number).into()),
            Self::Signed(number) => Number::integer((*number).into()),
            Self::Float(bits) => Number::float(f64::from_bits(*bits)),
            Self::Between(bits) => {
                let [value, lower, upper] = bits.map(f64::from_bits);
                Number::between(value, Interval { lower, upper })
            }
        })
    }

    /// The memory that it takes, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let own = size_of::<Self>();
        (if matches!(self, Self::Between(_)) { own + size_of::<[u64; 3]>() } else { own }) as u64
    }
}
