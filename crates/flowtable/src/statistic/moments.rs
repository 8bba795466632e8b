//! Count, mean and standard deviation of integer samples, exactly.

/// The first two moments of a stream of samples: 32 bytes, all zero when empty.
///
/// Sums of integers instead of Welford's recurrence: one multiplication and no division a sample (17
/// instructions with loads and stores), and nothing is rounded before a query. The sum of squares cannot
/// overflow where the sum does not, because `Σx² ≤ (Σx)²`; and the sum of a flow's gaps, bytes or
/// inter-arrival times is at most the packets received meanwhile, its bytes, its duration: all of them 64-bit
/// counters. Where other samples add up to 2^64 − 1 or more, the sum stays there, and there is no mean and no
/// deviation, rather than a wrong one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    /// The sum of the samples; `u64::MAX` if it is too large to be known.
    sum: u64,
    /// The sum of the squares, exact while `sum` is.
    squares: u128,
}

impl Moments {
    /// Counts a sample. Branch-free.
    #[inline(always)]
    pub fn add(&mut self, sample: u64) {
        let wide = u128::from(sample);
        self.count += 1;
        self.sum = self.sum.saturating_add(sample);
        self.squares = self.squares.wrapping_add(wide * wide);
    }

    /// Samples counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Arithmetic mean, within two roundings. None without samples, or where their sum is too large.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0 && self.sum < u64::MAX).then(|| self.sum as f64 / self.count as f64)
    }

    /// Standard deviation of the population (divided by the count, not by one less): the samples are all that
    /// there were and not a selection; 0 of a single one. None without samples, or where their sum is too large.
    ///
    /// Squares are taken about the integer nearest to the mean, in integers, so that no digits cancel where
    /// the deviation is small compared with the mean.
    pub fn stddev(&self) -> Option<f64> {
        if self.count == 0 || self.sum == u64::MAX {
            return None;
        }
        let (count, sum) = (u128::from(self.count), u128::from(self.sum));
        let centre = (sum + count / 2) / count;
        // Σ(x − c)² = Σx² − 2cΣx + nc². It is at most Σx², so that what wraps on the way there does no harm.
        let about_centre = self
            .squares
            .wrapping_sub(centre.wrapping_mul(2 * sum))
            .wrapping_add(count.wrapping_mul(centre).wrapping_mul(centre));
        // |Σ(x − c)| ≤ n/2, and at most Σ(x − c)²: at least half of that sum is left.
        let off = (count * centre).abs_diff(sum) as f64;
        Some(((about_centre as f64 - off * off / count as f64) / count as f64).sqrt())
    }

    /// Words of its state.
    pub(crate) const WORDS: usize = 4;

    /// Reads the moments from the first words, as [`Moments::to_words`] gives them.
    ///
    /// # Panics
    /// If there are fewer words than [`Moments::WORDS`].
    pub(crate) fn read(words: &[u64]) -> Self {
        Self::from_words(std::array::from_fn(|at| words[at]))
    }

    /// Creates the moments from the words of [`Moments::to_words`].
    #[inline(always)]
    pub(super) fn from_words([count, sum, low, high]: [u64; 4]) -> Self {
        Self { count, sum, squares: u128::from(high) << 64 | u128::from(low) }
    }

    #[inline(always)]
    pub(crate) fn to_words(self) -> [u64; 4] {
        [self.count, self.sum, self.squares as u64, (self.squares >> 64) as u64]
    }
}
