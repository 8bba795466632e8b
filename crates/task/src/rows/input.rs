//! The values of rows that aggregates and groups read, and numbers whose order is that of values.

use arrow_array::{Array, Float64Array, Int64Array, UInt64Array};
use arrow_buffer::NullBuffer;

/// The values of all rows that an aggregate reads.
#[derive(Clone, Debug)]
pub(crate) enum AggregateInput {
    Unsigned(UInt64Array),
    Signed(Int64Array),
    Float(Float64Array),
}

impl AggregateInput {
    /// Returns true if row `row` has no value.
    #[inline(always)]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Unsigned(array) => array.is_null(row),
            Self::Signed(array) => array.is_null(row),
            Self::Float(array) => array.is_null(row),
        }
    }

    /// Returns the rows that have values; `None` if all have.
    pub(crate) fn nulls(&self) -> Option<&NullBuffer> {
        match self {
            Self::Unsigned(array) => array.nulls(),
            Self::Signed(array) => array.nulls(),
            Self::Float(array) => array.nulls(),
        }
    }

    /// Returns the value of a row as a floating point number, whatever `nulls` say.
    #[inline(always)]
    pub(crate) fn float(&self, row: usize) -> f64 {
        match self {
            Self::Unsigned(array) => array.value(row) as f64,
            Self::Signed(array) => array.value(row) as f64,
            Self::Float(array) => array.value(row),
        }
    }

    /// Returns the value of a row as a number whose order is that of the values.
    #[inline(always)]
    pub(crate) fn ordered(&self, row: usize) -> u64 {
        match self {
            Self::Unsigned(array) => array.value(row),
            Self::Signed(array) => order_of_signed(array.value(row)),
            Self::Float(array) => order_of_float(array.value(row)),
        }
    }
}

const SIGN: u64 = 1 << 63;

/// A number whose order is that of signed ones.
pub(crate) fn order_of_signed(number: i64) -> u64 {
    number.cast_unsigned() ^ SIGN
}

/// The signed number of an order.
pub(crate) fn signed_of_order(order: u64) -> i64 {
    (order ^ SIGN).cast_signed()
}

/// A number whose order is that of floating point ones.
pub(crate) fn order_of_float(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The floating point number of an order.
pub(crate) fn float_of_order(order: u64) -> f64 {
    f64::from_bits(if order & SIGN == 0 { !order } else { order & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_the_numbers_and_lead_back() {
        let signed = [i64::MIN, -5, -1, 0, 1, i64::MAX - 1];
        assert!(signed.map(order_of_signed).is_sorted());
        signed.iter().for_each(|number| assert_eq!(signed_of_order(order_of_signed(*number)), *number));
        let floats = [f64::NEG_INFINITY, -1e300, -2.5, -0.0, 0.0, 1e-300, 7.25, f64::INFINITY];
        assert!(floats.map(order_of_float).is_sorted());
        for number in floats {
            assert_eq!(float_of_order(order_of_float(number)).to_bits(), number.to_bits());
        }
    }
}
