//! Values of groups: numbers that are null, exact, or between bounds.

use super::input::{float_of_order, signed_of_order};
use super::program::Type;
use crate::query::{Comparison, Operator};
use model::Value;
use std::cmp::Ordering;

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// The null value.
    Null,
    /// A value that may be null or not.
    Unknown,
    Integer(i128),
    Float(f64),
    /// An integer that rows tell, of which no bounds are known: a double does not tell nanoseconds of times apart.
    Seen(i128),
    /// The truth is between the bounds.
    Between {
        value: f64,
        lower: f64,
        upper: f64,
    },
}

impl Scalar {
    /// Returns the value of this type that has this [order](super::input::AggregateInput::ordered).
    pub(crate) fn of_order(order: u64, of: Type) -> Self {
        match of {
            Type::Signed => Self::Integer(signed_of_order(order).into()),
            Type::Float => Self::float(float_of_order(order)),
            _ => Self::Integer(order.into()),
        }
    }

    /// A floating point number; null if it is none.
    pub(crate) fn float(number: f64) -> Self {
        if number.is_finite() { Self::Float(number) } else { Self::Null }
    }

    /// A value of which no bounds are known.
    pub(crate) fn unbounded(value: f64) -> Self {
        Self::Between { value, lower: f64::NEG_INFINITY, upper: f64::INFINITY }
    }

    /// The most likely value; `None` if there is none.
    pub(crate) fn likely(self) -> Option<f64> {
        match self {
            Self::Null | Self::Unknown => None,
            Self::Integer(number) | Self::Seen(number) => Some(number as f64),
            Self::Float(number) | Self::Between { value: number, .. } => Some(number),
        }
    }

    /// The integer that it most likely is, exactly.
    fn whole(self) -> Option<i128> {
        match self {
            Self::Integer(number) | Self::Seen(number) => Some(number),
            _ => None,
        }
    }

    /// Returns true if no more than bounds are known of the value.
    fn is_unsure(self) -> bool {
        matches!(self, Self::Between { .. } | Self::Seen(_))
    }

    /// The natural number that it most likely is.
    pub(crate) fn natural(self) -> Option<u64> {
        match self {
            Self::Integer(number) | Self::Seen(number) => u64::try_from(number).ok(),
            Self::Between { value, .. } => Some(value as u64),
            _ => None,
        }
    }

    /// The value and its bounds.
    pub(crate) fn interval(self) -> Option<[f64; 3]> {
        match self {
            Self::Between { value, lower, upper } => Some([value, lower, upper]),
            Self::Seen(number) => Some([number as f64, f64::NEG_INFINITY, f64::INFINITY]),
            other => other.likely().map(|value| [value; 3]),
        }
    }

    /// Arithmetic, by the rules of [`crate::query::Expression::Arithmetic`].
    pub(crate) fn calculate(self, operator: Operator, other: Self) -> Self {
        if let (Self::Integer(left), Self::Integer(right)) = (self, other) {
            let integer = match operator {
                Operator::Add => left.checked_add(right),
                Operator::Subtract => left.checked_sub(right),
                Operator::Multiply => left.checked_mul(right),
                Operator::Divide if right == 0 => None,
                Operator::Divide => return Self::float(left as f64 / right as f64),
            };
            let is_in_range = |number: &i128| i64::try_from(*number).is_ok();
            return integer.filter(is_in_range).map_or(Self::Null, Self::Integer);
        }
        if let (Some(left), Some(right)) = (self.whole(), other.whole()) {
            let whole = match operator {
                Operator::Add => left.checked_add(right),
                Operator::Subtract => left.checked_sub(right),
                Operator::Multiply => left.checked_mul(right),
                Operator::Divide => None,
            };
            if let Some(whole) = whole {
                return Self::Seen(whole);
            }
        }
        let (Some(left), Some(right)) = (self.interval(), other.interval()) else {
            return if self == Self::Null || other == Self::Null { Self::Null } else { Self::Unknown };
        };
        let of = |left: f64, right: f64| match operator {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
        };
        // A divisor that may be 0 leaves nothing known.
        if operator == Operator::Divide && (right[0] == 0.0 || right[1] <= 0.0 && right[2] >= 0.0) {
            return if right[1] == right[2] { Self::Null } else { Self::Unknown };
        }
        let value = of(left[0], right[0]);
        if !self.is_unsure() && !other.is_unsure() {
            return Self::float(value);
        }
        let ends = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(one, other)| of(left[one], right[other]));
        // Of unbounded values nothing follows, as of their difference.
        if ends.iter().any(|end| end.is_nan()) {
            return Self::unbounded(value);
        }
        let lower = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let upper = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self::Between { value, lower, upper }
    }

    /// The sum of two totals, of any size.
    pub(crate) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => {
                one.checked_add(other).map_or(Self::Null, Self::Integer)
            }
            (one, other) => one.calculate(Operator::Add, other),
        }
    }

    /// The lesser (`Less`) or the greater one of two values; of a null and a value the value. One that is not known may be further out.
    pub(crate) fn outermost(self, other: Self, side: Ordering) -> Self {
        let (Some(one), Some(two)) = (self.interval(), other.interval()) else {
            return match (self, other) {
                (Self::Null, value) | (value, Self::Null) => value,
                (Self::Unknown, value) | (value, _) => match value.interval() {
                    Some([value, _, upper]) if side.is_lt() => {
                        Self::Between { value, lower: f64::NEG_INFINITY, upper }
                    }
                    Some([value, lower, _]) => Self::Between { value, lower, upper: f64::INFINITY },
                    None => Self::Unknown,
                },
            };
        };
        if !self.is_unsure() && !other.is_unsure() {
            return if self.order(other, false) == side { self } else { other };
        }
        let of = |at: usize| if side.is_lt() { one[at].min(two[at]) } else { one[at].max(two[at]) };
        Self::Between { value: of(0), lower: of(1), upper: of(2) }
    }

    /// The order of two values, of which an unknown one is the last in either direction.
    pub(crate) fn order(self, other: Self, descending: bool) -> Ordering {
        let by_value = match (self, other) {
            (Self::Null | Self::Unknown, Self::Null | Self::Unknown) => return Ordering::Equal,
            (Self::Null | Self::Unknown, _) => return Ordering::Greater,
            (_, Self::Null | Self::Unknown) => return Ordering::Less,
            (one, other) if one.whole().is_some() && other.whole().is_some() => {
                one.whole().cmp(&other.whole())
            }
            (one, other) => one.likely().unwrap_or(0.0).total_cmp(&other.likely().unwrap_or(0.0)),
        };
        if descending { by_value.reverse() } else { by_value }
    }

    /// Returns true if the value is null; `None` if that is not known.
    pub(crate) fn is_null(self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            value => Some(value == Self::Null),
        }
    }

    /// Returns true if a comparison holds; `None` if that is not known.
    pub(crate) fn compare(self, comparison: Comparison, other: Self) -> Option<bool> {
        if let (Self::Integer(one), Self::Integer(other)) = (self, other) {
            return Some(comparison.holds(one.cmp(&other)));
        }
        let ([_, low, high], [_, other_low, other_high]) = (self.interval()?, other.interval()?);
        let below = high < other_low;
        let above = low > other_high;
        let equal = low == high && other_low == other_high && low == other_low;
        let ordering = match (below, above, equal) {
            (true, _, _) => Ordering::Less,
            (_, true, _) => Ordering::Greater,
            (_, _, true) => Ordering::Equal,
            // They overlap: only "not less" and "not greater" may still be known.
            _ => {
                return match comparison {
                    Comparison::LessOrEqual if high <= other_low => Some(true),
                    Comparison::GreaterOrEqual if low >= other_high => Some(true),
                    Comparison::Less if low >= other_high => Some(false),
                    Comparison::Greater if high <= other_low => Some(false),
                    _ => None,
                };
            }
        };
        Some(comparison.holds(ordering))
    }
}

/// Converts values to those of columns of unsigned integers, of signed ones, or of floating point numbers.
impl Scalar {
    pub(crate) fn unsigned(self) -> Value {
        match self {
            Self::Integer(number) => u64::try_from(number).map_or(Value::Null, Value::Unsigned),
            other => other.estimate(),
        }
    }

    pub(crate) fn signed(self) -> Value {
        match self {
            Self::Integer(number) => i64::try_from(number).map_or(Value::Null, Value::Signed),
            other => other.estimate(),
        }
    }

    pub(crate) fn floating(self) -> Value {
        match self {
            Self::Integer(number) => Value::Float(number as f64),
            Self::Float(number) => Value::Float(number),
            other => other.estimate(),
        }
    }

    fn estimate(self) -> Value {
        match self {
            Self::Between { value, lower, upper } => Value::Estimate { value, lower, upper },
            Self::Seen(number) => {
                Value::Estimate { value: number as f64, lower: f64::NEG_INFINITY, upper: f64::INFINITY }
            }
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_exact_and_a_division_is_a_fraction() {
        let of = |left, operator, right| Scalar::Integer(left).calculate(operator, Scalar::Integer(right));
        let large = i128::from(i64::MAX);
        assert_eq!(of(large - 1, Operator::Add, 1), Scalar::Integer(large));
        assert_eq!(of(large, Operator::Add, 1), Scalar::Null);
        assert_eq!(of(3, Operator::Subtract, 5), Scalar::Integer(-2));
        assert_eq!(of(3, Operator::Divide, 4), Scalar::Float(0.75));
        assert_eq!(of(3, Operator::Divide, 0), Scalar::Null);
        assert_eq!(Scalar::Null.calculate(Operator::Add, Scalar::Integer(1)), Scalar::Null);
    }

    #[test]
    fn bounds_widen_what_is_computed_from_them() {
        let between = Scalar::Between { value: 10.0, lower: 8.0, upper: 12.0 };
        let half = between.calculate(Operator::Divide, Scalar::Integer(2));
        assert_eq!(half, Scalar::Between { value: 5.0, lower: 4.0, upper: 6.0 });
        let less = Scalar::Integer(0).calculate(Operator::Subtract, between);
        assert_eq!(less, Scalar::Between { value: -10.0, lower: -12.0, upper: -8.0 });
        assert_eq!(between.compare(Comparison::Greater, Scalar::Integer(7)), Some(true));
        assert_eq!(between.compare(Comparison::Greater, Scalar::Integer(9)), None);
        assert_eq!(between.compare(Comparison::Less, Scalar::Integer(8)), Some(false));
        assert_eq!(between.compare(Comparison::LessOrEqual, Scalar::Integer(12)), Some(true));
        assert_eq!(between.compare(Comparison::Equal, Scalar::Integer(13)), Some(false));
    }

    #[test]
    fn a_difference_of_times_is_exact_where_no_bounds_are_known() {
        let (first, last) = (1_767_225_600_000_000_001, 1_767_225_600_700_000_004);
        let (none, all) = (f64::NEG_INFINITY, f64::INFINITY);
        let expected = Value::Estimate { value: 700_000_003.0, lower: none, upper: all };
        for (from, to) in [
            (Scalar::Seen(first), Scalar::Seen(last)),
            (Scalar::Integer(first), Scalar::Seen(last)),
            (Scalar::Seen(first), Scalar::Integer(last)),
        ] {
            let span = to.calculate(Operator::Subtract, from);
            assert_eq!(span.signed(), expected);
            assert_eq!(span.compare(Comparison::Greater, Scalar::Integer(0)), None);
        }
        assert_eq!(Scalar::Seen(first).order(Scalar::Seen(first + 1), false), Ordering::Less);
        let half = Scalar::Seen(6).calculate(Operator::Divide, Scalar::Integer(4));
        assert_eq!(half, Scalar::Between { value: 1.5, lower: none, upper: all });
    }

    #[test]
    fn unknown_values_are_the_last_in_either_direction() {
        for descending in [false, true] {
            assert_eq!(Scalar::Null.order(Scalar::Integer(0), descending), Ordering::Greater);
            assert_eq!(Scalar::Float(0.0).order(Scalar::Null, descending), Ordering::Less);
        }
        assert_eq!(Scalar::Float(2.0).order(Scalar::Integer(1), true), Ordering::Less);
        assert_eq!(Scalar::Unknown.order(Scalar::Null, false), Ordering::Equal);
    }

    #[test]
    fn what_is_not_known_is_neither_null_nor_a_value() {
        let (null, unknown, one) = (Scalar::Null, Scalar::Unknown, Scalar::Integer(1));
        assert_eq!([null, unknown, one].map(Scalar::is_null), [Some(true), None, Some(false)]);
        assert_eq!(unknown.compare(Comparison::Equal, one), None);
        assert_eq!(unknown.calculate(Operator::Add, one), unknown);
        assert_eq!(unknown.calculate(Operator::Add, null), null);
        let maybe_zero = Scalar::Between { value: 1.0, lower: 0.0, upper: 2.0 };
        assert_eq!(one.calculate(Operator::Divide, maybe_zero), unknown);
        assert_eq!(one.calculate(Operator::Divide, Scalar::Float(0.0)), null);
        let (none, all) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(
            unknown.outermost(one, Ordering::Less),
            Scalar::Between { value: 1.0, lower: none, upper: 1.0 }
        );
        assert_eq!(
            one.outermost(unknown, Ordering::Greater),
            Scalar::Between { value: 1.0, lower: 1.0, upper: all }
        );
        assert_eq!(unknown.outermost(null, Ordering::Less), unknown);
        assert_eq!([unknown.unsigned(), unknown.floating()], [Value::Null, Value::Null]);
    }
}
