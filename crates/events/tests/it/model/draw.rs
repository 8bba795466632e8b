//! Random numbers that are the same in each run.

/// A generator of the family splitmix64: a counter, the bits of which are mixed.
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    /// A generator for these numbers: others give other draws.
    pub(crate) fn of(numbers: &[u64]) -> Self {
        let mut draw = Self(0);
        for number in numbers {
            draw.0 = draw.number() ^ number;
        }
        draw
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `bound`, which is small.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// A number from `least` to `most`.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True with a probability of `percent` / 100.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// A few of them, at least one, in any order.
    pub(crate) fn some<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let mut left = of.to_vec();
        let number = self.between(1, of.len() as u64);
        (0..number).map(|_| left.swap_remove(self.below(left.len() as u64) as usize)).collect()
    }
}
