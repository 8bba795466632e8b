//! Random numbers from a seed: SplitMix64 (Steele, Lea and Flood 2014).

/// A generator of random numbers, the same for the same seed.
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// Returns true once in `n` times, never for 0.
    pub fn once_in(&mut self, n: u64) -> bool {
        n != 0 && self.below(n) == 0
    }
}
