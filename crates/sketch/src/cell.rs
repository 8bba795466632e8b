//! The counters of an array: four widths, none of which wraps.

use std::fmt;

/// A counter. One that reaches its limit stays there ([`CounterCell::is_at_limit`]): an answer that depends on it has no bound.
pub trait CounterCell:
    Copy + Default + Ord + Send + Sync + fmt::Debug + sealed::SealedCell + 'static
{
    /// Bits and sign, as in `u32`.
    const NAME: &'static str;

    /// Sums below this one do not saturate.
    const LIMIT: u64;

    /// True if it can fall below zero.
    const IS_SIGNED: bool;

    /// Returns the counter with `weight` added.
    #[must_use]
    fn plus(self, weight: u64) -> Self;

    /// Returns the counter with `weight` added where the sum is known not to saturate.
    #[must_use]
    fn plus_within(self, weight: u64) -> Self;

    /// The sum of two counters.
    #[must_use]
    fn sum(self, other: Self) -> Self;

    /// True once it can count no further.
    fn is_at_limit(self) -> bool;

    /// A counter of 64 bits, in two's complement if this one can fall below zero; beyond the range, the
    /// limit.
    fn from_word(word: u64) -> Self;

    /// Returns the counter's value; beyond the range, the nearest.
    fn to_i64(self) -> i64;

    /// Returns the counter's value, approximate if it has more than 53 bits.
    fn to_f64(self) -> f64;
}

/// A counter that can fall below zero.
pub trait SignedCell: CounterCell {
    /// Returns the counter with `weight` subtracted.
    #[must_use]
    fn minus(self, weight: u64) -> Self;

    /// Returns the counter with `weight` subtracted where the difference is known not to saturate.
    #[must_use]
    fn minus_within(self, weight: u64) -> Self;

    /// The difference of two counters.
    #[must_use]
    fn difference(self, other: Self) -> Self;
}

mod sealed {
    pub trait SealedCell {}
}

macro_rules! cell {
    ($($cell:ident: $at_limit:expr, $word:expr;)*) => {$(
        impl sealed::SealedCell for $cell {}

        impl CounterCell for $cell {
            const NAME: &'static str = stringify!($cell);
            const LIMIT: u64 = $cell::MAX as u64;
            const IS_SIGNED: bool = $cell::MIN != 0;

            #[inline(always)]
            fn plus(self, weight: u64) -> Self {
                self.sum(weight.min($cell::MAX as u64) as $cell)
            }

            #[inline(always)]
            fn plus_within(self, weight: u64) -> Self {
                self.wrapping_add(weight as $cell)
            }

            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                // Only a counter that can fall again could leave its limit; the compiler drops the test for
                // the others.
                if Self::IS_SIGNED && self.is_at_limit() {
                    return self;
                }
                if Self::IS_SIGNED && other.is_at_limit() { other } else { self.saturating_add(other) }
            }

            #[inline(always)]
            fn is_at_limit(self) -> bool {
                $at_limit(self)
            }

            #[inline(always)]
            fn from_word(word: u64) -> Self {
                $word(word)
            }

            #[inline(always)]
            fn to_i64(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

cell! {
    u32: |cell| cell == u32::MAX, |word| u32::try_from(word).unwrap_or(u32::MAX);
    u64: |cell| cell == u64::MAX, |word| word;
    i32: |cell| cell == i32::MAX || cell == i32::MIN,
        |word| (word as i64).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    i64: |cell| cell == i64::MAX || cell == i64::MIN, |word| word as i64;
}

macro_rules! signed_cell {
    ($($cell:ident)*) => {$(
        impl SignedCell for $cell {
            #[inline(always)]
            fn minus(self, weight: u64) -> Self {
                if self.is_at_limit() {
                    return self;
                }
                if weight >= $cell::MAX as u64 { $cell::MIN } else { self.saturating_sub(weight as $cell) }
            }

            #[inline(always)]
            fn minus_within(self, weight: u64) -> Self {
                self.wrapping_sub(weight as $cell)
            }

            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                // `MIN` has no counterpart: its negation is the limit too.
                self.sum(other.saturating_neg())
            }
        }
    )*};
}

signed_cell! { i32 i64 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_narrowed_to_the_limits() {
        assert_eq!((u32::from_word(7), u32::from_word(1 << 32)), (7, u32::MAX));
        assert_eq!((i32::from_word(7), i32::from_word(7_u64.wrapping_neg())), (7, -7));
        assert_eq!(
            (i32::from_word(1 << 40), i32::from_word((1_u64 << 40).wrapping_neg())),
            (i32::MAX, i32::MIN)
        );
        assert_eq!((i64::from_word(7_u64.wrapping_neg()), u64::from_word(1 << 63)), (-7, 1 << 63));
    }

    #[test]
    fn counters_stop_at_their_limits_and_stay_there() {
        assert_eq!((u32::MAX - 1).plus(1), u32::MAX);
        assert_eq!((u32::MAX - 1).plus(u64::MAX), u32::MAX);
        assert_eq!(7_u32.plus(u64::from(u32::MAX) + 1), u32::MAX);
        assert_eq!((u64::MAX - 1).plus(5), u64::MAX);
        assert_eq!((i32::MAX - 1).plus(1 << 40).minus(5), i32::MAX);
        assert_eq!(0_i32.minus(1 << 40).minus(5), -i32::MAX - 1);
        assert_eq!(0_i32.minus(1 << 40).plus(9), -i32::MAX - 1);
        assert_eq!(i64::MAX.difference(7), i64::MAX);
        assert_eq!(7_i64.difference(i64::MIN), i64::MAX);
        assert_eq!((5_i32.plus(3), 5_i32.minus(8), 5_i32.difference(-8)), (8, -3, 13));
        assert!((u32::MAX.is_at_limit(), 0_u32.is_at_limit(), i32::MIN.is_at_limit()) == (true, false, true));
    }
}
