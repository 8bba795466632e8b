//! The P² algorithm: a quantile of a stream from five markers, without keeping the samples.
//!
//! Source: R. Jain and I. Chlamtac, The P² algorithm for dynamic calculation of quantiles and histograms without
//! storing observations, Communications of the ACM 28(10), 1985; FloWatcher's Algorithms 2 and 3.

/// Ranks are fractions of this: p in millionths, and its half.
const SCALE: i64 = 2_000_000;

/// Markers. This many samples are kept as they are.
const MARKERS: usize = 5;

/// The quantile that a [`PSquare`] estimates: the desired positions of its inner markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Desired ranks of the markers 2, 3 and 4, that is p/2, p and (1 + p)/2, in units of `1 / SCALE`.
    ranks: [i64; 3],
}

impl Quantile {
    /// The quantile `p`, given in millionths: 500,000 is the median, 0 the smallest and 1,000,000 (or more) the
    /// largest.
    pub const fn new(millionths: u32) -> Self {
        let p = if millionths < 1_000_000 { millionths as i64 } else { 1_000_000 };
        Self { ranks: [p, 2 * p, 1_000_000 + p] }
    }
}

/// An estimate of one quantile: 56 bytes, all zero when empty. The same [`Quantile`] belongs to every call.
///
/// Up to five samples the answer is exact: the value at rank `1 + (n − 1)p`, interpolated between neighbours.
/// From then on it is the third marker's height, as published, where that marker is no more than one place
/// off its desired position. With p near 0 or 1 it cannot have reached it yet (p99: before 101 samples; the
/// published answer for 20 exponential ones is usually a third too low), and the answer is interpolated
/// between the two markers around that position. It never leaves the range of the samples.
///
/// P² promises no bound on its error. Measured, p50 to p99.9: on uniform and exponential samples and on
/// sorted ones the answer's rank is off by 2 to 6 percentage points with 20 of them, less than 0.5 with 1,000
/// and 0.1 with 10,000 (with a Pareto tail of 1.2 by 1.1 and 0.6). In a gap between two groups of samples the
/// answer may stay far from both for hundreds of samples: the median of gaps within bursts (below 50) and
/// between them (above 100,000, one in ten) was some thirty times too large after 50 samples, and 10 % off
/// after 1,000. For sizes of only two values it converges to the right one as 1/n.
///
/// Heights are `f64`: a sample is held to a relative 2^-53 (nanoseconds exactly up to 104 days). In an `f32` it would be 2^-24, and the steps of a marker, about 1/n of the distance to its
/// neighbour, would be lost after some millions of samples. Desired positions are not stored: the paper's
/// increments add up to `1 + (n − 1)p`, and its comparisons are between integers once multiplied by 2,000,000. So
/// nothing is rounded, where stored floating-point sums drift and decide every hundredth step for p99 as they
/// happen to.
///
/// Positions are 32-bit. After 2^32 − 1 samples they are halved: earlier samples have half the weight from
/// then on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PSquare {
    /// The heights of the markers, ascending from five samples on, the first and last being the extremes; before, the samples in arrival
    /// order.
    heights: [f64; MARKERS],
    /// Positions of markers 2 to 5; the first is always at 1, and the last at the number of samples.
    positions: [u32; 4],
}

impl PSquare {
    /// Counts a sample.
    #[inline(always)]
    pub fn add(&mut self, quantile: &Quantile, sample: u64) {
        if self.is_common() {
            self.add_common(quantile, sample);
        } else {
            self.add_rare(quantile, sample);
        }
    }

    /// Returns true if the next sample is neither among the first ones nor the last that 32 bits can count: one branch for both.
    #[inline(always)]
    pub(super) fn is_common(&self) -> bool {
        self.positions[3].wrapping_sub(MARKERS as u32) < u32::MAX - MARKERS as u32
    }

    /// [`PSquare::add`] where [`PSquare::is_common`].
    #[inline(always)]
    pub(super) fn add_common(&mut self, quantile: &Quantile, sample: u64) {
        let x = height(sample);
        let q = &mut self.heights;
        let mut n = positions(&self.positions);
        q[0] = if x < q[0] { x } else { q[0] };
        q[4] = if x > q[4] { x } else { q[4] };
        for i in 1..4 {
            n[i] += i64::from(x < q[i]);
        }
        n[4] += 1;
        for i in 1..4 {
            let ahead = (n[4] - 1) * quantile.ranks[i - 1] - (n[i] - 1) * SCALE;
            if is_off(ahead) {
                step(q, &mut n, i, ahead);
            }
        }
        self.positions = [n[1] as u32, n[2] as u32, n[3] as u32, n[4] as u32];
    }

    /// [`PSquare::add`] where not [`PSquare::is_common`].
    #[inline(never)]
    pub(super) fn add_rare(&mut self, quantile: &Quantile, sample: u64) {
        let count = self.count();
        if count >= MARKERS {
            self.halve();
            return self.add_common(quantile, sample);
        }
        self.heights[count] = height(sample);
        self.positions[3] += 1;
        if count + 1 == MARKERS {
            self.heights.sort_unstable_by(f64::total_cmp);
            self.positions = [2, 3, 4, 5];
        }
    }

    fn halve(&mut self) {
        let [n2, n3, n4, n5] = self.positions.map(|n| n / 2);
        // No two markers in one place: markers of an extreme quantile are adjacent.
        let n2 = n2.max(2);
        let n3 = n3.max(n2 + 1);
        let n4 = n4.max(n3 + 1).min(n5 - 1);
        let n3 = n3.min(n4 - 1);
        self.positions = [n2.min(n3 - 1), n3, n4, n5];
    }

    /// Samples that the markers represent.
    fn count(&self) -> usize {
        self.positions[3] as usize
    }

    /// The estimate. None without samples.
    pub fn estimate(&self, quantile: &Quantile) -> Option<f64> {
        let desired = (self.count() as i64 - 1) * quantile.ranks[1];
        match self.count() {
            0 => None,
            count @ 1..MARKERS => {
                let mut samples = self.heights;
                samples[..count].sort_unstable_by(f64::total_cmp);
                Some(interpolate(&samples[..count], &[1, 2, 3, 4, 5][..count], desired))
            }
            _ => {
                let n = positions(&self.positions);
                if n[4] == MARKERS as i64 || (desired - (n[2] - 1) * SCALE).abs() > SCALE {
                    Some(interpolate(&self.heights, &n, desired))
                } else {
                    Some(self.heights[2])
                }
            }
        }
    }

    /// Words of its state.
    pub(crate) const WORDS: usize = 7;

    /// Reads the estimate from the first words, as [`PSquare::to_words`] gives them.
    ///
    /// # Panics
    /// If there are fewer words than [`PSquare::WORDS`].
    pub(crate) fn read(words: &[u64]) -> Self {
        Self::from_words(std::array::from_fn(|at| words[at]))
    }

    /// Creates the estimate from the words of [`PSquare::to_words`].
    #[inline(always)]
    pub(super) fn from_words(words: [u64; 7]) -> Self {
        let [a, b, c, d, e, low, high] = words;
        Self {
            heights: [a, b, c, d, e].map(f64::from_bits),
            positions: [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32],
        }
    }

    #[inline(always)]
    pub(crate) fn to_words(self) -> [u64; 7] {
        let [a, b, c, d, e] = self.heights.map(f64::to_bits);
        let [n2, n3, n4, n5] = self.positions.map(u64::from);
        [a, b, c, d, e, n3 << 32 | n2, n5 << 32 | n4]
    }
}

/// A sample as a height. Signed integers convert in one instruction, and hardly any sample is none.
#[inline(always)]
fn height(sample: u64) -> f64 {
    match i64::try_from(sample) {
        Ok(sample) => sample as f64,
        Err(_) => large_height(sample),
    }
}

#[cold]
#[inline(never)]
fn large_height(sample: u64) -> f64 {
    sample as f64
}

#[inline(always)]
fn positions(&[n2, n3, n4, n5]: &[u32; 4]) -> [i64; MARKERS] {
    [1, n2.into(), n3.into(), n4.into(), n5.into()]
}

/// Returns true if a marker is one place or more from its desired position; the distance in units of `1 / SCALE`.
#[inline(always)]
fn is_off(distance: i64) -> bool {
    !(-SCALE < distance && distance < SCALE)
}

/// Moves marker `i` by one place towards its desired position, which is `ahead` of it, unless a neighbour
/// blocks it.
#[inline(always)]
fn step(q: &mut [f64; MARKERS], n: &mut [i64; MARKERS], i: usize, ahead: i64) {
    let (left, right) = (n[i] - n[i - 1], n[i + 1] - n[i]);
    let room = if ahead > 0 { right } else { left };
    if room <= 1 {
        return;
    }
    let sign = 1 | ahead >> 63;
    let (a, b, d) = (left as f64, right as f64, sign as f64);
    let (below, above) = (q[i] - q[i - 1], q[i + 1] - q[i]);
    // The paper's piecewise-parabolic prediction over one denominator: one division instead of three.
    let parabolic = q[i] + d * ((a + d) * a * above + (b - d) * b * below) / (a * b * (a + b));
    q[i] = if q[i - 1] < parabolic && parabolic < q[i + 1] {
        parabolic
    } else if ahead > 0 {
        q[i] + above / b
    } else {
        q[i] - below / a
    };
    n[i] += sign;
}

/// The height at a position, which is 1 + `desired / SCALE` and lies between the first and the last marker.
fn interpolate(heights: &[f64], positions: &[i64], desired: i64) -> f64 {
    for (q, n) in heights.windows(2).zip(positions.windows(2)) {
        let beyond = desired - (n[0] - 1) * SCALE;
        let distance = (n[1] - n[0]) * SCALE;
        if beyond < distance {
            let height = q[0] + (q[1] - q[0]) * (beyond as f64 / distance as f64);
            return height.max(q[0]).min(q[1]);
        }
    }
    heights[heights.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIAN: Quantile = Quantile::new(500_000);

    /// The table of the worked example in Jain and Chlamtac's paper: each observation from the sixth on with the
    /// markers' heights and positions after it. (Where the paper's text lists the observations, the second is
    /// misprinted as 0.5.)
    #[test]
    fn the_worked_example() {
        let first = [0.02, 0.15, 0.74, 3.39, 0.83];
        #[rustfmt::skip]
        let rows = [
            (22.37, [0.02, 0.15, 0.74,  0.83, 22.37], [2,  3,  4,  6]),
            (10.15, [0.02, 0.15, 0.74,  4.47, 22.37], [2,  3,  5,  7]),
            (15.43, [0.02, 0.15, 2.18,  8.60, 22.37], [2,  4,  6,  8]),
            (38.62, [0.02, 0.87, 4.75, 15.52, 38.62], [3,  5,  7,  9]),
            (15.92, [0.02, 0.87, 4.75, 15.52, 38.62], [3,  5,  7, 10]),
            (34.60, [0.02, 0.87, 9.28, 21.58, 38.62], [3,  6,  8, 11]),
            (10.28, [0.02, 0.87, 9.28, 21.58, 38.62], [3,  6,  9, 12]),
            ( 1.47, [0.02, 2.14, 9.28, 21.58, 38.62], [4,  7, 10, 13]),
            ( 0.40, [0.02, 2.14, 9.28, 21.58, 38.62], [5,  8, 11, 14]),
            ( 0.05, [0.02, 0.74, 6.30, 21.58, 38.62], [5,  8, 12, 15]),
            (11.39, [0.02, 0.74, 6.30, 21.58, 38.62], [5,  8, 13, 16]),
            ( 0.27, [0.02, 0.59, 6.30, 17.22, 38.62], [5,  9, 13, 17]),
            ( 0.42, [0.02, 0.59, 6.30, 17.22, 38.62], [6, 10, 14, 18]),
            ( 0.09, [0.02, 0.50, 4.44, 17.22, 38.62], [6, 10, 15, 19]),
            (11.37, [0.02, 0.50, 4.44, 17.22, 38.62], [6, 10, 16, 20]),
        ];
        // Whole numbers of hundredths: the algorithm is independent of the unit.
        let hundredths = |x: f64| (x * 100.0).round() as u64;
        let mut p_square = PSquare::default();
        for x in first {
            p_square.add(&MEDIAN, hundredths(x));
        }
        assert_eq!(p_square.heights, [2.0, 15.0, 74.0, 83.0, 339.0]);
        for (x, heights, positions) in rows {
            p_square.add(&MEDIAN, hundredths(x));
            assert_eq!(p_square.positions, positions, "after {x}");
            for (ours, published) in p_square.heights.iter().zip(heights) {
                // The authors rounded to two decimals on the way, and continued with those: exact fractions
                // give 17.2039 at the end where 17.22 is printed.
                assert!((ours / 100.0 - published).abs() < 0.0165, "{ours} {published} after {x}");
            }
            assert_eq!(p_square.estimate(&MEDIAN), Some(p_square.heights[2]));
        }
        // The same in exact fractions, computed apart.
        for (ours, exact) in
            p_square.heights.iter().zip([0.02, 0.493_895_448, 4.440_634_353, 17.203_904_274, 38.62])
        {
            assert!((ours / 100.0 - exact).abs() < 1e-8, "{ours} {exact}");
        }
    }

    /// A parabola that just reaches the neighbour's height is rejected: the comparison is strict, and the
    /// line is used.
    #[test]
    fn a_tie_is_linear() {
        let quantile = Quantile::new(990_000);
        let mut p_square = PSquare::default();
        for sample in [0, 20, 30, 40, 50, 25] {
            p_square.add(&quantile, sample);
        }
        // 20 + (2·10/2 + 1·20/1) / 3 = 30, but 20 + (30 − 20) / 2 = 25.
        assert_eq!((p_square.heights[1], p_square.positions[0]), (25.0, 3));
    }

    /// At the limit of 32 bits the markers keep their heights, their order and their ranks, and continue.
    #[test]
    fn positions_are_halved() {
        for millionths in [0, 1, 500_000, 990_000, 999_999, 1_000_000] {
            let quantile = Quantile::new(millionths);
            let desired = |i: usize, n5: u32| 1 + (i64::from(n5) - 1) * quantile.ranks[i] / SCALE;
            // The markers' positions after this many samples, two of them at an end if the quantile lies
            // there.
            let last = u32::MAX;
            let n4 = desired(2, last).clamp(4, i64::from(last) - 1);
            let n3 = desired(1, last).clamp(3, n4 - 1);
            let n2 = desired(0, last).clamp(2, n3 - 1);
            let heights = [0.0, 10.0, 20.0, 30.0, 40.0];
            let mut p_square = PSquare { heights, positions: [n2 as u32, n3 as u32, n4 as u32, last] };
            let before = p_square.estimate(&quantile).expect("samples");
            let mut halved = p_square;
            halved.halve();
            let n = positions(&halved.positions);
            assert!(n.is_sorted_by(|a, b| a < b) && n[4] == i64::from(last / 2), "{millionths}: {n:?}");
            for sample in [20, 0, 40, 19, 21] {
                p_square.add(&quantile, sample);
                let n = positions(&p_square.positions);
                assert!(n.is_sorted_by(|a, b| a < b), "{millionths}: {n:?}");
                assert!(p_square.heights.is_sorted());
            }
            assert_eq!(p_square.positions[3], last / 2 + 5);
            let n = positions(&p_square.positions);
            for i in 0..3 {
                // Within reach of the desired position, or kept from it by its neighbours at an end.
                assert!(n[i + 1].abs_diff(desired(i, p_square.positions[3])) <= 3, "{millionths}: {n:?}");
            }
            let after = p_square.estimate(&quantile).expect("samples");
            assert!((after - before).abs() < 0.1, "{millionths}: {before} became {after}");
        }
    }

    #[test]
    fn words_hold_everything() {
        let mut p_square = PSquare::default();
        for sample in [u64::MAX, 3, 1 << 40, 7, 0, 12, 5] {
            p_square.add(&MEDIAN, sample);
            assert_eq!(PSquare::from_words(p_square.to_words()), p_square);
        }
        assert_eq!(PSquare::from_words([0; 7]), PSquare::default());
    }
}
