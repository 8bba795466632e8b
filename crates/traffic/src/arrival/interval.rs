//! Times as multiples of an interval that is a fraction of nanoseconds.

/// Nanoseconds × 2^`shift` per unit, rounded up: a time is never earlier than the exact one, and later by less than
/// 2⁻⁵⁰ of what has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    mult: u64,
    shift: u32,
}

/// With times below 2^62 ns, all products stay within 128 bits.
const MOST_SHIFT: u32 = 66;

impl Interval {
    /// `numerator` / `denominator` nanoseconds per 2^`fraction` units. Neither is 0, the quotient is below 2⁴⁴ and the
    /// denominator below 2⁶².
    pub(super) fn new(numerator: u128, denominator: u128, fraction: u32) -> Self {
        let (whole, rest) = (numerator / denominator, numerator % denominator);
        // One bit is left for rounding up.
        let shift = (whole.leading_zeros() - 65).min(60).min(MOST_SHIFT - fraction);
        let mult = ((whole << shift) + (rest << shift).div_ceil(denominator)) as u64;
        Self { mult, shift: shift + fraction }
    }

    /// The time of a unit.
    #[inline(always)]
    pub(super) fn ns(&self, unit: u64) -> u64 {
        ((u128::from(unit) * u128::from(self.mult)) >> self.shift) as u64
    }

    /// The last unit whose time is at most `ns`.
    #[inline]
    pub(super) fn unit_at(&self, ns: u64) -> u64 {
        ((((u128::from(ns) + 1) << self.shift) - 1) / u128::from(self.mult)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_are_the_exact_ones(
            numerator in 1..1u128 << 70,
            denominator in 1..1u128 << 60,
            fraction in 0..13u32,
            unit in 0..1u64 << 40,
        ) {
            // From 1 ps to 1,000 s.
            prop_assume!((numerator * 1000 > denominator) && numerator / denominator < 1_000_000_000_000);
            let interval = Interval::new(numerator, denominator, fraction);
            let unit = unit >> (128 - (numerator / denominator).leading_zeros()).saturating_sub(18);
            let exact = (u128::from(unit) * numerator / denominator) as u64 >> fraction;
            let ns = interval.ns(unit);
            prop_assert!(ns >= exact && ns - exact <= 1 + (exact >> 48), "{} {}", ns, exact);
            // The search is the other way of the same.
            let last = interval.unit_at(ns);
            prop_assert!(interval.ns(last) <= ns && interval.ns(last + 1) > ns);
            prop_assert!(last >= unit);
        }
    }
}
