//! Numbers of which bounds are known.

use crate::truth::TruthValue;
use notation::{Comparison, Operator};

/// An interval in which the truth is: at least `lower` and at most `upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower bound; −∞ where nothing is known.
    pub lower: f64,
    /// The upper bound; ∞ where nothing is known.
    pub upper: f64,
}

impl Interval {
    /// The interval of which nothing is known.
    pub const ANY: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    /// A number that is known; one that is none is not.
    pub fn exact(number: f64) -> Self {
        if number.is_nan() { Self::ANY } else { Self { lower: number, upper: number } }
    }

    /// An integer. One that no double is has the doubles next to it as bounds.
    pub fn integer(number: i128) -> Self {
        let near = number as f64;
        match (near as i128).cmp(&number) {
            std::cmp::Ordering::Equal => Self::exact(near),
            std::cmp::Ordering::Less => Self { lower: near, upper: near.next_up() },
            std::cmp::Ordering::Greater => Self { lower: near.next_down(), upper: near },
        }
    }

    /// Returns the interval without its upper bound: at least as much.
    pub fn or_more(self) -> Self {
        Self { upper: f64::INFINITY, ..self }
    }

    /// Returns the interval without its lower bound: at most as much.
    pub fn or_less(self) -> Self {
        Self { lower: f64::NEG_INFINITY, ..self }
    }

    /// Returns whether the comparison holds for all, for some or for no numbers between the bounds.
    pub fn compare(self, comparison: Comparison, other: Self) -> TruthValue {
        let decided = |always: bool, never: bool| match (always, never) {
            (true, _) => TruthValue::True,
            (_, true) => TruthValue::False,
            _ => TruthValue::Unknown,
        };
        match comparison {
            Comparison::Less => decided(self.upper < other.lower, self.lower >= other.upper),
            Comparison::LessOrEqual => decided(self.upper <= other.lower, self.lower > other.upper),
            Comparison::Greater => other.compare(Comparison::Less, self),
            Comparison::GreaterOrEqual => other.compare(Comparison::LessOrEqual, self),
            Comparison::Equal => decided(
                self.lower == self.upper && self == other,
                self.upper < other.lower || self.lower > other.upper,
            ),
            Comparison::NotEqual => self.compare(Comparison::Equal, other).negated(),
        }
    }

    /// The bounds of what is computed from both; `None` where a divisor may be 0, whose quotient is no number.
    pub fn calculate(self, operator: Operator, other: Self) -> Option<Self> {
        let of = |ends: [f64; 4]| {
            // 0 times infinity: of what is not known, nothing.
            let ends = ends.map(|end| if end.is_nan() { 0.0 } else { end });
            let lower = ends.into_iter().fold(f64::INFINITY, f64::min);
            Self { lower, upper: ends.into_iter().fold(f64::NEG_INFINITY, f64::max) }
        };
        let (a, b) = (self, other);
        Some(match operator {
            Operator::Add => Self { lower: a.lower + b.lower, upper: a.upper + b.upper },
            Operator::Subtract => Self { lower: a.lower - b.upper, upper: a.upper - b.lower },
            Operator::Multiply => {
                of([a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper])
            }
            Operator::Divide if b.lower <= 0.0 && b.upper >= 0.0 => return None,
            Operator::Divide => {
                of([a.lower / b.lower, a.lower / b.upper, a.upper / b.lower, a.upper / b.upper])
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(lower: f64, upper: f64) -> Interval {
        Interval { lower, upper }
    }

    #[test]
    fn comparisons_hold_for_all_numbers_or_for_none() {
        use TruthValue::{False, True, Unknown};
        let of = |a: Interval, comparison, b: Interval| a.compare(comparison, b);
        let five = Interval::exact(5.0);
        for (lower, upper, greater, at_least, equal) in [
            (6.0, 9.0, True, True, False),
            (5.0, 9.0, Unknown, True, Unknown),
            (5.0, 5.0, False, True, True),
            (1.0, 5.0, False, Unknown, Unknown),
            (1.0, 4.0, False, False, False),
            (4.0, 6.0, Unknown, Unknown, Unknown),
            (5.0, f64::INFINITY, Unknown, True, Unknown),
        ] {
            let it = between(lower, upper);
            assert_eq!(of(it, Comparison::Greater, five), greater, "{it:?}");
            assert_eq!(of(it, Comparison::LessOrEqual, five), greater.negated(), "{it:?}");
            assert_eq!(of(it, Comparison::GreaterOrEqual, five), at_least, "{it:?}");
            assert_eq!(of(it, Comparison::Less, five), at_least.negated(), "{it:?}");
            assert_eq!(of(five, Comparison::Equal, it), equal, "{it:?}");
            assert_eq!(of(it, Comparison::NotEqual, five), equal.negated(), "{it:?}");
        }
    }

    #[test]
    fn results_contain_all_results() {
        let (a, b) = (between(-2.0, 3.0), between(1.0, 4.0));
        let calculate = |operator| a.calculate(operator, b);
        assert_eq!(calculate(Operator::Add), Some(between(-1.0, 7.0)));
        assert_eq!(calculate(Operator::Subtract), Some(between(-6.0, 2.0)));
        assert_eq!(calculate(Operator::Multiply), Some(between(-8.0, 12.0)));
        assert_eq!(calculate(Operator::Divide), Some(between(-2.0, 3.0)));
        assert_eq!(b.calculate(Operator::Divide, a), None);
        let more = Interval::exact(0.0).calculate(Operator::Multiply, Interval::ANY);
        assert_eq!(more, Some(Interval::exact(0.0)));
    }

    #[test]
    fn integers_beyond_doubles_are_between_two() {
        assert_eq!(Interval::integer(7), Interval::exact(7.0));
        let large = Interval::integer((1 << 53) + 1);
        assert_eq!(large, between(9_007_199_254_740_992.0, 9_007_199_254_740_994.0));
        let largest = Interval::integer(u64::MAX.into());
        assert!(largest.lower < largest.upper && largest.upper == 18_446_744_073_709_551_616.0);
    }
}
