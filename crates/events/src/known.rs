//! Computed values as far as they are known: numbers with bounds, integers exactly.

use crate::figure::{BoundedValue, Certainty, ColumnRole};
use crate::interval::Interval;
use crate::key::Member;
use model::{ColumnKind, Value};
use notation::Operator;
use std::cmp::Ordering;

/// A number: the most likely one, and bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoundedNumber {
    /// The number, of an integer that is known exactly.
    exact: Option<i128>,
    value: f64,
    bounds: Interval,
    /// The integer and its bounds: a double does not tell nanoseconds of times apart.
    whole: Option<Whole>,
}

/// An integer between bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Whole {
    likely: i128,
    /// The lower bound, and the upper one; `None` where nothing is known.
    lower: Option<i128>,
    upper: Option<i128>,
}

impl Whole {
    fn exact(number: i128) -> Self {
        Self { likely: number, lower: Some(number), upper: Some(number) }
    }

    /// A sum or a difference; `None` where it is too large, and of other operators.
    fn calculate(self, operator: Operator, other: Self) -> Option<Self> {
        let of = |a: Option<i128>, b: Option<i128>| match operator {
            Operator::Add => a?.checked_add(b?),
            Operator::Subtract => a?.checked_sub(b?),
            Operator::Multiply | Operator::Divide => None,
        };
        let [lower, upper] = match operator {
            Operator::Subtract => [other.upper, other.lower],
            _ => [other.lower, other.upper],
        };
        Some(Self {
            likely: of(Some(self.likely), Some(other.likely))?,
            lower: of(self.lower, lower),
            upper: of(self.upper, upper),
        })
    }

    /// The bounds as doubles, which are not within them.
    fn bounds(self) -> Interval {
        Interval {
            lower: self.lower.map_or(f64::NEG_INFINITY, |lower| Interval::integer(lower).lower),
            upper: self.upper.map_or(f64::INFINITY, |upper| Interval::integer(upper).upper),
        }
    }
}

/// A value, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DerivedValue {
    Number(BoundedNumber),
    /// Something else, exactly.
    Other(Value),
    /// The value is null.
    Null,
    /// The value may be anything.
    Unknown,
    /// The value is of a window of which nothing is known.
    NoWindow,
}

impl BoundedNumber {
    /// An integer.
    pub(crate) fn integer(number: i128) -> Self {
        let whole = Some(Whole::exact(number));
        Self { exact: Some(number), value: number as f64, bounds: Interval::integer(number), whole }
    }

    /// A number that is known.
    pub(crate) fn float(number: f64) -> Self {
        Self { exact: None, value: number, bounds: Interval::exact(number), whole: None }
    }

    /// A number between bounds.
    pub(crate) fn between(value: f64, bounds: Interval) -> Self {
        Self { exact: None, value, bounds, whole: None }
    }

    /// An integer of which these bounds are known, which are its own or none.
    fn bounded(number: i128, bounds: Interval) -> Self {
        let own = |end: f64| end.is_finite().then_some(number);
        let whole = Whole { likely: number, lower: own(bounds.lower), upper: own(bounds.upper) };
        Self { whole: Some(whole), ..Self::between(number as f64, bounds) }
    }

    /// Returns the number where no more than these bounds is known of it.
    fn within(self, bounds: Interval) -> Self {
        self.exact.map_or_else(|| Self::between(self.value, bounds), |exact| Self::bounded(exact, bounds))
    }

    /// The integer, if it is one that is known.
    pub(crate) fn exact(&self) -> Option<i128> {
        self.exact
    }

    /// The most likely value.
    pub(crate) fn likely(&self) -> f64 {
        self.value
    }

    /// Returns the bounds: the number is not less and not more.
    pub(crate) fn bounds(&self) -> Interval {
        self.bounds
    }

    /// Returns true if the number is known.
    pub(crate) fn is_plain(&self) -> bool {
        self.exact.is_some() || self.bounds.lower == self.bounds.upper
    }

    fn calculate(self, operator: Operator, other: Self) -> DerivedValue {
        if let (Some(a), Some(b)) = (self.exact, other.exact) {
            let exact = match operator {
                Operator::Add => Some(a.checked_add(b)),
                Operator::Subtract => Some(a.checked_sub(b)),
                Operator::Multiply => Some(a.checked_mul(b)),
                Operator::Divide => None,
            };
            if let Some(exact) = exact {
                return exact
                    .map_or(DerivedValue::Null, |number| DerivedValue::Number(Self::integer(number)));
            }
        }
        let (a, b) = (self.value, other.value);
        let value = match operator {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
        };
        if self.is_plain() && other.is_plain() {
            // A division by zero has no result.
            return if value.is_finite() {
                DerivedValue::Number(Self::float(value))
            } else {
                DerivedValue::Null
            };
        }
        let whole = self.whole.zip(other.whole).and_then(|(one, other)| one.calculate(operator, other));
        if let Some(whole) = whole {
            let number = Self::between(whole.likely as f64, whole.bounds());
            return DerivedValue::Number(Self { whole: Some(whole), ..number });
        }
        let bounds = self.bounds.calculate(operator, other.bounds).unwrap_or(Interval::ANY);
        if value.is_finite() {
            DerivedValue::Number(Self::between(value, bounds))
        } else {
            DerivedValue::Unknown
        }
    }

    /// The mean of numbers; `None` of none.
    pub(crate) fn mean(numbers: &[Self]) -> Option<Self> {
        let count = numbers.len() as f64;
        if numbers.is_empty() {
            return None;
        }
        let exact = numbers.iter().try_fold(0_i128, |sum, number| sum.checked_add(number.exact?));
        if let Some(sum) = exact {
            return Some(Self::float(sum as f64 / count));
        }
        let sum = |of: fn(&Self) -> f64| numbers.iter().map(of).sum::<f64>() / count;
        let value = sum(|number| number.value);
        if numbers.iter().all(Self::is_plain) {
            return Some(Self::float(value));
        }
        let bounds = Interval { lower: sum(|it| it.bounds.lower), upper: sum(|it| it.bounds.upper) };
        Some(Self::between(value, bounds))
    }

    /// Returns the number as a column of this kind holds it: an integer that the kind does not hold is null, as in rows.
    fn value(self, kind: ColumnKind) -> Value {
        if !self.is_plain() {
            let Interval { lower, upper } = self.bounds;
            return Value::Estimate { value: self.value, lower, upper };
        }
        let is_whole = self.value.fract() == 0.0 && self.value.abs() < 9e15;
        let integer = self.exact.or_else(|| is_whole.then_some(self.value as i128));
        match (kind, integer) {
            (ColumnKind::Unsigned, Some(number)) => {
                u64::try_from(number).map_or(Value::Null, Value::Unsigned)
            }
            (ColumnKind::Signed, Some(number)) => i64::try_from(number).map_or(Value::Null, Value::Signed),
            (ColumnKind::Time, Some(number)) => u64::try_from(number).map_or(Value::Null, Value::Time),
            (ColumnKind::Float, _) => Value::Float(self.value),
            _ => Value::Estimate { value: self.value, lower: self.value, upper: self.value },
        }
    }
}

impl DerivedValue {
    /// A value of an answer.
    pub(crate) fn from_value(value: &Value, role: ColumnRole, certainty: Certainty) -> Self {
        let number = match value {
            Value::Null => {
                return match BoundedValue::from_value(value, role, certainty) {
                    BoundedValue::Null => Self::Null,
                    _ => Self::Unknown,
                };
            }
            Value::Unsigned(number) => BoundedNumber::integer((*number).into()),
            Value::Signed(number) => BoundedNumber::integer((*number).into()),
            Value::Time(ns) => BoundedNumber::integer((*ns).into()),
            Value::Float(number) if number.is_finite() => BoundedNumber::float(*number),
            Value::Float(_) => return Self::Unknown,
            Value::Estimate { value, lower, upper } => {
                BoundedNumber::between(*value, Interval { lower: *lower, upper: *upper })
            }
            other => {
                return match BoundedValue::from_value(other, role, certainty) {
                    BoundedValue::Other(value) => Self::Other(value),
                    _ => Self::Unknown,
                };
            }
        };
        Self::Number(match BoundedValue::from_value(value, role, certainty) {
            BoundedValue::Number(bounds) if bounds == number.bounds => number,
            BoundedValue::Number(bounds) => number.within(bounds),
            _ => number.within(Interval::ANY),
        })
    }

    /// Returns what is known of a group that has no row, in a column of this kind.
    pub(crate) fn absent(figure: BoundedValue, kind: ColumnKind) -> Self {
        match figure {
            BoundedValue::Number(bounds) if bounds == Interval::exact(0.0) => {
                Self::Number(if kind == ColumnKind::Float {
                    BoundedNumber::float(0.0)
                } else {
                    BoundedNumber::integer(0)
                })
            }
            BoundedValue::Number(bounds) => Self::Number(BoundedNumber::between(bounds.lower, bounds)),
            BoundedValue::Other(value) => Self::Other(value),
            BoundedValue::Null => Self::Null,
            BoundedValue::Unknown => Self::Unknown,
        }
    }

    /// A member of a key.
    pub(crate) fn from_member(member: &Member) -> Self {
        Self::from_value(&member.into(), ColumnRole::Key, Certainty::Whole)
    }

    /// The order of two values, of which one that is not known is the last in either direction.
    pub(crate) fn order(&self, other: &Self, descending: bool) -> Ordering {
        let by_value = match (self, other) {
            (Self::Number(one), Self::Number(other)) => match (one.exact, other.exact) {
                (Some(one), Some(other)) => one.cmp(&other),
                _ => one.value.total_cmp(&other.value),
            },
            (Self::Other(one), Self::Other(other)) => Member::from(one).cmp(&Member::from(other)),
            (Self::Number(_), Self::Other(_)) => return Ordering::Less,
            (Self::Other(_), Self::Number(_)) => return Ordering::Greater,
            (Self::Number(_) | Self::Other(_), _) => return Ordering::Less,
            (_, Self::Number(_) | Self::Other(_)) => return Ordering::Greater,
            _ => return Ordering::Equal,
        };
        if descending { by_value.reverse() } else { by_value }
    }

    /// Calculates what follows from two values.
    pub(crate) fn calculate(self, operator: Operator, other: Self) -> Self {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.calculate(operator, other),
            (Self::NoWindow, _) | (_, Self::NoWindow) => Self::NoWindow,
            (Self::Null, _) | (_, Self::Null) => Self::Null,
            _ => Self::Unknown,
        }
    }

    /// Returns the value as a condition sees it.
    pub(crate) fn figure(&self) -> BoundedValue {
        match self {
            Self::Number(number) => BoundedValue::Number(number.bounds),
            Self::Other(value) => BoundedValue::Other(value.clone()),
            Self::Null | Self::NoWindow => BoundedValue::Null,
            Self::Unknown => BoundedValue::Unknown,
        }
    }

    /// Returns the value as an answer has it.
    pub(crate) fn value(&self, kind: ColumnKind) -> Value {
        match self {
            Self::Number(number) => number.value(kind),
            Self::Other(value) => value.clone(),
            Self::Null | Self::Unknown | Self::NoWindow => Value::Null,
        }
    }

    /// Returns true if the value may be another one.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Number(number) => !number.is_plain(),
            Self::Unknown => true,
            Self::Other(_) | Self::Null | Self::NoWindow => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(value: Value) -> DerivedValue {
        DerivedValue::from_value(&value, ColumnRole::Total, Certainty::Whole)
    }

    #[test]
    fn integers_stay_exact_and_a_division_by_zero_is_null() {
        let large = whole(Value::Unsigned(u64::MAX));
        let near = whole(Value::Unsigned(u64::MAX - 1));
        let difference = near.clone().calculate(Operator::Subtract, large.clone());
        assert_eq!(difference.value(ColumnKind::Signed), Value::Signed(-1));
        let sum = near.calculate(Operator::Add, large.clone());
        assert_eq!(sum.value(ColumnKind::Signed), Value::Null);
        let zero = whole(Value::Unsigned(0));
        assert_eq!(large.clone().calculate(Operator::Divide, zero.clone()), DerivedValue::Null);
        assert_eq!(zero.clone().calculate(Operator::Divide, zero), DerivedValue::Null);
        let half = whole(Value::Unsigned(1)).calculate(Operator::Divide, whole(Value::Unsigned(2)));
        assert_eq!(half.value(ColumnKind::Float), Value::Float(0.5));
        // Of integers that no double is, the quotient is a number as it is in rows.
        let one = large.clone().calculate(Operator::Divide, large);
        assert_eq!(one.value(ColumnKind::Float), Value::Float(1.0));
    }

    #[test]
    fn a_difference_of_times_is_exact_where_a_window_was_watched_in_part() {
        let (first, last) = (1_767_225_600_000_000_001, 1_767_225_600_700_000_004);
        let of = |ns, role| DerivedValue::from_value(&Value::Time(ns), role, Certainty::Cut);
        let span = |from: DerivedValue, to: DerivedValue| {
            to.calculate(Operator::Subtract, from).value(ColumnKind::Signed)
        };
        let (lower, upper) = (700_000_003.0, f64::INFINITY);
        assert_eq!(
            span(of(first, ColumnRole::Least), of(last, ColumnRole::Greatest)),
            Value::Estimate { value: 700_000_003.0, lower, upper }
        );
        // Nothing is known of the whole window; what was seen is.
        let seen = span(of(first, ColumnRole::Other), of(last, ColumnRole::Other));
        assert_eq!(seen, Value::Estimate { value: 700_000_003.0, lower: f64::NEG_INFINITY, upper });
        // With what is known exactly, and twice.
        let start = DerivedValue::from_value(&Value::Time(first), ColumnRole::Key, Certainty::Cut);
        assert_eq!(
            span(start, of(last, ColumnRole::Greatest)),
            Value::Estimate { value: 700_000_003.0, lower, upper }
        );
        let sum = of(first, ColumnRole::Least).calculate(
            Operator::Add,
            DerivedValue::from_value(&Value::Unsigned(2), ColumnRole::Key, Certainty::Whole),
        );
        assert_eq!(
            span(sum, of(last, ColumnRole::Greatest)),
            Value::Estimate { value: 700_000_001.0, lower: 700_000_001.0, upper }
        );
    }

    #[test]
    fn bounds_follow_from_bounds() {
        let estimate = |value, lower, upper| whole(Value::Estimate { value, lower, upper });
        let difference = estimate(5.0, 4.0, 9.0).calculate(Operator::Subtract, whole(Value::Unsigned(3)));
        let value = difference.value(ColumnKind::Signed);
        assert_eq!(value, Value::Estimate { value: 2.0, lower: 1.0, upper: 6.0 });
        let quotient = estimate(5.0, 4.0, 9.0).calculate(Operator::Divide, estimate(1.0, 0.0, 2.0));
        assert_eq!(quotient.figure(), BoundedValue::Number(Interval::ANY));
        // What was watched in part is a lower bound, and the value is what was seen.
        let cut = DerivedValue::from_value(&Value::Unsigned(7), ColumnRole::Total, Certainty::Cut);
        let value = cut.value(ColumnKind::Unsigned);
        assert_eq!(value, Value::Estimate { value: 7.0, lower: 7.0, upper: f64::INFINITY });
    }
}
