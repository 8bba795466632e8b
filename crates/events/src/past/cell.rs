//! A value that is kept.

use crate::interval::Interval;
use crate::known::{BoundedNumber, DerivedValue};
use serde::{Deserialize, Serialize};

/// A number, or its absence, in two words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum RetainedValue {
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

impl RetainedValue {
    pub(crate) fn from_known(known: &DerivedValue) -> Self {
        let DerivedValue::Number(number) = known else {
            return if *known == DerivedValue::Null { Self::Null } else { Self::Unknown };
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

    pub(crate) fn known(&self) -> DerivedValue {
        DerivedValue::Number(match self {
            Self::Null => return DerivedValue::Null,
            Self::Unknown => return DerivedValue::Unknown,
            Self::Unsigned(number) => BoundedNumber::integer((*number).into()),
            Self::Signed(number) => BoundedNumber::integer((*number).into()),
            Self::Float(bits) => BoundedNumber::float(f64::from_bits(*bits)),
            Self::Between(bits) => {
                let [value, lower, upper] = bits.map(f64::from_bits);
                BoundedNumber::between(value, Interval { lower, upper })
            }
        })
    }

    /// The memory that it takes, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let own = size_of::<Self>();
        (if matches!(self, Self::Between(_)) { own + size_of::<[u64; 3]>() } else { own }) as u64
    }
}
