//! Drawing from a hundred million flows without a table of them, which would compete for the caches with the
//! measured one.

use packet::split_mix;

/// Draws numbers `0..flows`, number `r` with a probability proportional to `1 / (r + 1)^skew`:
/// rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
#[derive(Clone, Debug)]
pub(super) struct ZipfSampler {
    flows: u32,
    skew: f64,
    /// Bounds of the integral of the density's hat.
    low: f64,
    high: f64,
    /// The distance after the middle of a rank up to which the hat is the density.
    sure: f64,
    random: u64,
}

impl ZipfSampler {
    /// `flows` at least 1, `skew` at least 0.
    pub(super) fn new(flows: u32, skew: f64, seed: u64) -> Self {
        let mut draw = Self { flows, skew, low: 0.0, high: 0.0, sure: 0.0, random: seed };
        draw.low = draw.integral(1.5) - 1.0;
        draw.high = draw.integral(f64::from(flows) + 0.5);
        draw.sure = 2.0 - draw.inverse(draw.integral(2.5) - draw.weight(2.0));
        draw
    }

    /// The next ones.
    pub(super) fn fill(&mut self, numbers: &mut [u32]) {
        for number in numbers {
            *number = if self.skew == 0.0 {
                ((u128::from(split_mix(&mut self.random)) * u128::from(self.flows)) >> 64) as u32
            } else {
                self.rank() - 1
            };
        }
    }

    #[inline]
    fn rank(&mut self) -> u32 {
        loop {
            let share = (split_mix(&mut self.random) >> 11) as f64 / (1_u64 << 53) as f64;
            let under = self.high + share * (self.low - self.high);
            let x = self.inverse(under);
            let rank = x.round().clamp(1.0, f64::from(self.flows));
            if rank - x <= self.sure || under >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u32;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.skew * x.ln()).exp()
    }

    /// `(x^(1 − skew) − 1) / (1 − skew)`, which is `ln x` at a skew of 1.
    fn integral(&self, x: f64) -> f64 {
        let (log, power) = (x.ln(), 1.0 - self.skew);
        if (log * power).abs() < 1e-8 { log } else { (log * power).exp_m1() / power }
    }

    fn inverse(&self, y: f64) -> f64 {
        let power = 1.0 - self.skew;
        if (y * power).abs() < 1e-8 { y.exp() } else { ((y * power).max(-1.0).ln_1p() / power).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_frequencies_pass_a_chi_square_test() {
        const DRAWS: u32 = 1_000_000;
        for (flows, skew) in
            [(1, 1.0), (2, 0.5), (300, 0.0), (1_000, 0.5), (1_000, 1.0), (1_000, 1.5), (300, 2.0)]
        {
            let mut numbers = vec![0; DRAWS as usize];
            ZipfSampler::new(flows, skew, 42).fill(&mut numbers);
            let mut counts = vec![0_u32; flows as usize];
            numbers.iter().for_each(|number| counts[*number as usize] += 1);
            let weights: Vec<f64> = (1..=flows).map(|rank| f64::from(rank).powf(-skew)).collect();
            let all: f64 = weights.iter().sum();
            let square: f64 = counts
                .iter()
                .zip(weights)
                .map(|(&count, weight)| {
                    let mean = weight / all * f64::from(DRAWS);
                    (f64::from(count) - mean).powi(2) / mean
                })
                .sum();
            // The statistic's mean is its degrees of freedom d, its variance 2d: five deviations either way.
            let freedom = f64::from(flows - 1);
            let bound = 5.0 * (2.0 * freedom).sqrt();
            assert!((square - freedom).abs() <= bound, "{flows} flows, skew {skew}: {square}");
        }
    }
}
