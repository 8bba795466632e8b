//! The error bounds of medians of rows.

use crate::{Bounds, Estimate};

/// Chebyshev: a row is off by more than this many standard deviations with a probability of at most 1/9.
const DEVIATIONS: f64 = 3.0;
const BEYOND: f64 = 1.0 / (DEVIATIONS * DEVIATIONS);

/// A probability with which the median of `depth` independent rows is within what a single row exceeds with
/// probability `p`: fewer than half of them may exceed it. (The usual 1 − e^(−cd) is a bound of this sum.)
pub(super) fn median_confidence(depth: usize, p: f64) -> f64 {
    let mut chosen = 1.0;
    let mut beyond = 0.0;
    for many in 0..=depth {
        if many >= depth.div_ceil(2) {
            beyond += chosen * p.powi(many as i32) * (1.0 - p).powi((depth - many) as i32);
        }
        chosen *= (depth - many) as f64 / (many + 1) as f64;
    }
    1.0 - beyond
}

/// The most by which a median of rows is off, as a share of the total, and the probability of that. Each row has a variance of `variance`
/// times the squared total at most.
pub(super) fn promise_of_median(depth: usize, variance: f64) -> (f64, f64) {
    (DEVIATIONS * variance.sqrt(), median_confidence(depth, BEYOND))
}

/// The largest second moment compatible with an estimate of it, whose rows have a variance of at most 2·F₂²/w
/// (Alon, Matias, Szegedy, "The space complexity of approximating the frequency moments", STOC 1996); none if
/// rows are too narrow.
fn largest_second_moment(estimate: Option<f64>, width: f64) -> Option<f64> {
    let off = DEVIATIONS * (2.0 / width).sqrt();
    estimate.filter(|_| off < 1.0).map(|moment| moment.max(0.0) / (1.0 - off))
}

/// A median of rows without a mean error, each of a variance of at most F₂/w. It fails where too many rows do, or too
/// many of those that F₂ comes from.
pub(super) fn around_median(value: f64, second_moment: Option<f64>, width: f64, depth: usize) -> Estimate {
    let Some(moment) = largest_second_moment(second_moment, width) else { return Estimate::unbounded(value) };
    let noise = DEVIATIONS * (moment / width).sqrt();
    let failing = 2.0 * (1.0 - median_confidence(depth, BEYOND));
    Estimate::bounded(value, value - noise, value + noise, 1.0 - failing)
}

/// A median of row products, each of a variance of at most (F₂·F₂' + (a·b)²)/w ≤ 2·F₂·F₂'/w.
pub(super) fn around_product(value: f64, moments: [Option<f64>; 2], width: f64, depth: usize) -> Estimate {
    let [Some(left), Some(right)] = moments.map(|moment| largest_second_moment(moment, width)) else {
        return Estimate::unbounded(value);
    };
    let noise = DEVIATIONS * (2.0 * left * right / width).sqrt();
    let failing = 3.0 * (1.0 - median_confidence(depth, BEYOND));
    Estimate::bounded(value, value - noise, value + noise, 1.0 - failing)
}

/// Returns the estimate of a total that cannot be below zero.
pub(super) fn not_negative(estimate: Estimate) -> Estimate {
    let bounds = estimate.bounds.map(|bounds| Bounds {
        lower: bounds.lower.max(0.0),
        upper: bounds.upper.max(0.0),
        ..bounds
    });
    Estimate { value: estimate.value.max(0.0), bounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_fails_where_half_of_the_rows_do() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(median_confidence(1, 0.1), 0.9);
        near(median_confidence(2, 0.1), 0.81);
        near(median_confidence(3, 0.1), 1.0 - 3.0 * 0.01 * 0.9 - 0.001);
        near(median_confidence(4, 0.1), 1.0 - 6.0 * 0.01 * 0.81 - 4.0 * 0.001 * 0.9 - 0.0001);
    }
}
