//! Random numbers for draws while counting, seeded like hashing.

use packet::{Seed, split_mix};

/// A source of random numbers for draws. The same seed draws the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct SketchRng(u64);

impl SketchRng {
    pub(crate) fn new(seed: &Seed, purpose: u64) -> Self {
        let [state] = seed.secrets(!purpose);
        Self(state)
    }

    /// Returns a source whose numbers neither of two has drawn or will draw, at any position.
    pub(crate) fn joined(&mut self, other: &Self) -> Self {
        Self(self.word().wrapping_add(other.clone().word().rotate_left(32)))
    }

    #[inline(always)]
    pub(crate) fn word(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// True with the probability `part` / `whole`.
    #[inline(always)]
    pub(crate) fn happens(&mut self, part: u64, whole: u64) -> bool {
        u128::from(self.word()) * u128::from(whole) < u128::from(part) << 64
    }

    /// The number of failures before the first success, each with the probability `p`: geometrically
    /// distributed.
    pub(crate) fn failures(&mut self, p: f64) -> u64 {
        self.failures_of(Self::failing(p))
    }

    /// The argument of [`SketchRng::failures_of`] for a constant probability: ln(1 − p).
    pub(crate) fn failing(p: f64) -> f64 {
        (-p.min(1.0)).ln_1p()
    }

    /// Returns the number of failures as [`SketchRng::failures`] does, by [`SketchRng::failing`].
    pub(crate) fn failures_of(&mut self, failing: f64) -> u64 {
        // In (0, 1], of which the logarithm is finite.
        let uniform = ((self.word() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        // A cast of what is too large, or infinite for p = 0, stops at the end of the range; for p = 1 it is 0.
        (uniform.ln() / failing) as u64
    }
}

/// The number skipped before the next one that is taken, each taken with the same probability.
#[derive(Clone, Debug)]
pub(crate) struct Skip {
    draw: SketchRng,
    pub(crate) left: u64,
}

impl Skip {
    pub(crate) fn new(seed: &Seed, purpose: u64, p: f64) -> Self {
        let mut skip = Self { draw: SketchRng::new(seed, purpose), left: 0 };
        skip.renew(p);
        skip
    }

    /// Draws the next number to skip, after one was taken.
    #[inline]
    pub(crate) fn renew(&mut self, p: f64) {
        self.left = self.draw.failures(p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_and_waits_are_as_often_as_they_should_be() {
        let mut draw = SketchRng::new(&Seed::new(1), 1);
        let n = 100_000;
        let happened = (0..n).filter(|_| draw.happens(3, 10)).count() as f64 / f64::from(n);
        assert!((happened - 0.3).abs() < 5.0 * (0.21 / f64::from(n)).sqrt(), "{happened}");
        let waits: Vec<_> = (0..n).map(|_| draw.failures(0.1)).collect();
        let mean = waits.iter().sum::<u64>() as f64 / f64::from(n);
        assert!((mean - 9.0).abs() < 5.0 * (90.0 / f64::from(n)).sqrt(), "{mean}");
        let none = waits.iter().filter(|wait| **wait == 0).count() as f64 / f64::from(n);
        assert!((none - 0.1).abs() < 5.0 * (0.09 / f64::from(n)).sqrt(), "{none}");
        assert_eq!((draw.failures(1.0), draw.failures(0.0)), (0, u64::MAX));
        assert!(draw.happens(5, 5) && !draw.happens(0, 5));
    }
}
