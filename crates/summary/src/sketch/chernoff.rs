//! The bound that holds for every sum of independent terms between 0 and 1 (Chernoff 1952; also where they are negatively
//! dependent).

/// The range of means μ that are compatible with a sum of `seen`: P(outside) ≤ 1 − `confidence`.
///
/// Either tail is at most exp(−(μ − x + x ln(x / μ))), each of which is set to half of the rest.
pub(crate) fn mean_of(seen: f64, confidence: f64) -> (f64, f64) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
