//! A table of random arrivals.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Arrivals in the table, a power of two: after this many packets the intervals repeat. The table takes 1
/// MiB.
pub(super) const PACKETS: usize = 1 << 18;
/// Binary places of an arrival.
pub(super) const FRACTION: u32 = 12;

/// Arrivals of a Poisson process with a mean interval of 1, in units of 2^-`FRACTION`; the first at 0. The
/// sum of all intervals is adjusted to exactly `PACKETS`, so that the mean rate is the requested one.
pub(super) fn arrivals(seed: u64) -> Vec<u32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sum = 0.0;
    let mut sums = Vec::with_capacity(PACKETS);
    for _ in 0..PACKETS {
        sums.push(sum);
        // In (0, 1].
        let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        sum -= ln(uniform);
    }
    let scale = (PACKETS as f64) * f64::from(1 << FRACTION) / sum;
    sums.into_iter().map(|sum| (sum * scale) as u32).collect()
}

/// The natural logarithm of a number in (0, 1] that is no subnormal, by operations that IEEE 754 rounds
/// exactly: mathematical libraries may differ between platforms.
fn ln(number: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // ln m = 2 artanh((m - 1) / (m + 1)); the argument is at most 1/3, so 17 terms are below the last place.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = (0..18).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    f64::from(exponent) * LN_2 + 2.0 * z * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_the_logarithm() {
        for number in [1.0, 0.999_999, 0.75, 0.5, 0.3, 1e-3, 1e-9, 2f64.powi(-53)] {
            assert!((ln(number) - number.ln()).abs() <= 4e-16 * (1.0 + number.ln().abs()), "{number}");
        }
    }

    #[test]
    fn intervals_are_exponential() {
        let times = arrivals(1);
        assert_eq!((times.len(), times[0]), (PACKETS, 0));
        assert!(times.is_sorted());
        let unit = f64::from(1 << FRACTION);
        let intervals: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / unit).collect();
        // The share of intervals above x is e^-x; six standard deviations of a share of a quarter million are 0.006.
        for x in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let share = intervals.iter().filter(|&&gap| gap > x).count() as f64 / intervals.len() as f64;
            assert!((share - f64::exp(-x)).abs() < 0.006, "{x}: {share}");
        }
        // Intervals are independent.
        let mean_product = intervals.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / PACKETS as f64;
        assert!((mean_product - 1.0).abs() < 0.03, "{mean_product}");
        assert_ne!(arrivals(1), arrivals(2));
    }
}
