//! The bound that holds for every sum of independent terms between 0 and 1 (Chernoff 1952; also where they are negatively
//! dependent).

/// Returns the range of means μ that are compatible with a sum of `seen`: P(outside) ≤ 1 − `confidence`.
///
/// Either tail is at most exp(−(μ − x + x ln(x / μ))), each of which is set to half of the rest.
pub fn mean_of(seen: f64, confidence: f64) -> (f64, f64) {
    let most = (2.0 / (1.0 - confidence)).ln();
    let exponent = |mean: f64| mean - seen + if seen > 0.0 { seen * (seen / mean).ln() } else { 0.0 };
    // The exponent grows to both sides of `seen`, so the ends are found by halving.
    let search = |mut inside: f64, mut outside: f64| {
        for _ in 0..60 {
            let middle = f64::midpoint(inside, outside);
            if exponent(middle) <= most {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        outside
    };
    let lower = if seen > 0.0 { search(seen, 0.0) } else { 0.0 };
    (lower, search(seen, seen + most + (most * most + 2.0 * seen * most).sqrt() + 1.0))
}

/// Returns the means μ between which a sum of `seen` is no exception, for all flows of a stream at once: the chance that any flow lies
/// outside of its bounds is 1 − `confidence` at the most, however those that are asked about are chosen, even by what was seen of them. `total`
/// is the mean of the sum over all flows.
///
/// The chance is shared out: a flow of mean μ may fail with (1 − `confidence`) · μ / `total`, which over all flows adds up to the whole. So either
/// tail, as above, is compared with half of that.
pub(crate) fn mean_of_any(seen: f64, total: f64, confidence: f64) -> (f64, f64) {
    let most = (2.0 * total / (1.0 - confidence)).ln();
    // Below 0 within the bounds. Falls up to `seen` − 1 and grows from there on.
    let excess = |mean: f64| {
        let of_seen = if seen > 0.0 { seen * (seen / mean).ln() } else { 0.0 };
        mean - seen + of_seen + mean.ln() - most
    };
    let search = |mut inside: f64, mut outside: f64| {
        for _ in 0..60 {
            let middle = f64::midpoint(inside, outside);
            if excess(middle) <= 0.0 { inside = middle } else { outside = middle }
        }
        outside
    };
    let least = seen - 1.0;
    let lower = if least > 0.0 { search(least, 0.0) } else { 0.0 };
    let mut outside = seen + 1.0;
    while excess(outside) <= 0.0 {
        outside *= 2.0;
    }
    // No flow has more than all of them.
    (lower.min(total), search(least.max(0.0), outside).min(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_for_any_flow_are_those_of_the_formula() {
        for (seen, total) in [(0.0, 5.0), (0.5, 100.0), (1.0, 100.0), (2.0, 1e6), (40.0, 1e4), (1e6, 1e9)] {
            let (lower, upper) = mean_of_any(seen, total, 0.95);
            let excess = |mean: f64| {
                let exponent = mean - seen + if seen > 0.0 { seen * (seen / mean).ln() } else { 0.0 };
                exponent - (2.0 * total / (0.05 * mean)).ln()
            };
            assert!(lower <= seen && (seen < upper || upper == total), "{seen} {lower} {upper}");
            assert!(upper == total || excess(upper).abs() < 1e-2, "{seen}: {}", excess(upper));
            assert!(lower == 0.0 || excess(lower).abs() < 1e-2, "{seen}: {}", excess(lower));
            assert_eq!(lower > 0.0, seen > 1.0);
            let (one_lower, one_upper) = mean_of(seen, 0.95);
            assert!(lower <= one_lower && (upper >= one_upper || upper == total), "wider than those of one");
        }
    }

    #[test]
    fn ends_are_those_of_the_formula() {
        let most = 40_f64.ln();
        let (lower, upper) = mean_of(0.0, 0.95);
        assert!(lower == 0.0 && (upper - most).abs() < 1e-9);
        for seen in [1.0, 7.0, 1e3, 1e9] {
            let (lower, upper) = mean_of(seen, 0.95);
            assert!(lower < seen && seen < upper);
            for end in [lower, upper] {
                let exponent = end - seen + seen * (seen / end).ln();
                assert!((exponent - most).abs() < 1e-3 * most, "{seen}: {end}");
            }
        }
    }
}
