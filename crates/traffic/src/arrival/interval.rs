//! Times as multiples of an interval that need not be a whole number of nanoseconds.

/// Nanoseconds per unit as a whole number and 64 binary places, rounded up: a time is never earlier than the exact one, and
/// later by less than its unit × 2⁻⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ArrivalInterval {
    whole: u64,
    part: u64,
    /// Units per nanosecond, for an approximate position.
    units: f64,
}

impl ArrivalInterval {
    /// `numerator` / `denominator` nanoseconds per 2^`fraction` units. Neither is 0, the quotient is below
    /// 2⁶⁰ and the fraction below 64. Exact if the denominator in lowest terms is below 2⁶².
    pub(super) fn new(numerator: u128, denominator: u128, fraction: u32) -> Self {
        // A rate in bits times the frames of a trace exceeds that.
        let common = greatest_common_divisor(numerator, denominator);
        let (numerator, denominator) = (numerator / common, denominator / common);
        let (whole, rest) = (numerator / denominator, numerator % denominator);
        // Larger quotients lose binary places of numerator and denominator alike, of which 62 are left.
        let excess = 66u32.saturating_sub(denominator.leading_zeros());
        let part = ((rest >> excess) << 64).div_ceil(denominator >> excess);
        let ns = (whole << 64) + part;
        let scaled = (ns >> fraction) + u128::from(ns & ((1 << fraction) - 1) != 0);
        Self { whole: (scaled >> 64) as u64, part: scaled as u64, units: (u64::MAX as f64) / scaled as f64 }
    }

    /// The time of a unit, which is below 2⁶².
    #[inline(always)]
    pub(super) fn ns(&self, unit: u64) -> u64 {
        unit * self.whole + ((u128::from(unit) * u128::from(self.part)) >> 64) as u64
    }

    /// The last unit whose time is at most `ns`.
    #[inline]
    pub(super) fn unit_at(&self, ns: u64) -> u64 {
        // The first one of the next nanosecond, right to 52 bits: in the first hours to the unit or the next one, after days to some tens.
        let mut unit = ((ns + 1) as f64 * self.units) as u64;
        while self.ns(unit) > ns {
            unit -= 1;
        }
        while self.ns(unit + 1) <= ns {
            unit += 1;
        }
        unit
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 40 million frames of 84 bytes on the line at 1 Tbit/s: 0.672 ns each.
    #[test]
    fn rates_in_bits_of_long_traces() {
        let frames = 40_000_000u128;
        let interval = ArrivalInterval::new(frames * 84 * 8_000_000_000, 1_000_000_000_000 * frames, 0);
        assert_eq!(interval.ns(1_000_000_000), 672_000_000);
        // The same where no common divisor helps much.
        let interval =
            ArrivalInterval::new(frames * 84 * 8_000_000_000 + 1, 1_000_000_000_000 * frames - 1, 0);
        assert_eq!(interval.ns(1_000_000_000), 672_000_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

        #[test]
        fn times_are_the_exact_ones(
            numerator in 1..1u128 << 70,
            denominator in 1..1u128 << 60,
            fraction in 0..13u32,
            unit in 0..1u64 << 40,
        ) {
            // From 1 ps to 1,000 s.
            prop_assume!((numerator * 1000 > denominator) && numerator / denominator < 1_000_000_000_000);
            let interval = ArrivalInterval::new(numerator, denominator, fraction);
            let unit = unit >> (128 - (numerator / denominator).leading_zeros()).saturating_sub(18);
            let exact = (u128::from(unit) * numerator / denominator) as u64 >> fraction;
            let ns = interval.ns(unit);
            prop_assert!(ns >= exact && ns - exact <= 1, "{} {}", ns, exact);
            // The search is the inverse.
            let last = interval.unit_at(ns);
            prop_assert!(interval.ns(last) <= ns && interval.ns(last + 1) > ns);
            prop_assert!(last >= unit);
        }
    }
}
