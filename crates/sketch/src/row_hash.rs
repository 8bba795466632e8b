//! The way from a key's one hash to a place in each row.

use packet::Seed;

/// The most rows that a structure can have.
pub const MAX_ROWS: usize = 8;

/// Hash functions of rows: each takes a key's 64-bit hash to 32 bits, independently of the others.
///
/// ((a + x mod 2³²)(b + ⌊x / 2³²⌋) + c) / 2³² with three random numbers is strongly universal
/// (pair-multiply-shift; Thorup, "High speed hashing for integers and strings", arXiv:1504.06804): for two
/// different hashes any two values are equally likely, so that they collide in one of w places with a
/// probability of 1/w, independently in each row. One multiplication a row, which is what splitting the hash
/// would cost too where w is no power of two.
#[derive(Clone, Copy, Debug)]
pub struct RowHash([u64; 3]);

impl RowHash {
    /// Draws the functions of the rows of one structure. `purpose` distinguishes structures with the same seed.
    pub fn draw(seed: &Seed, purpose: u64) -> [Self; MAX_ROWS] {
        let secrets: [u64; 3 * MAX_ROWS] = seed.secrets(purpose);
        std::array::from_fn(|row| Self(std::array::from_fn(|i| secrets[3 * row + i])))
    }

    /// Returns 32 random bits for a hash.
    #[inline(always)]
    pub fn word(&self, hash: u64) -> u32 {
        let [a, b, c] = self.0;
        let (low, high) = (hash & 0xffff_ffff, hash >> 32);
        (a.wrapping_add(low).wrapping_mul(b.wrapping_add(high)).wrapping_add(c) >> 32) as u32
    }
}

/// Returns a place below `width` by a random word: its share of the width (Lemire 2019), without a division.
#[inline(always)]
pub fn place(word: u32, width: u32) -> usize {
    ((u64::from(word) * u64::from(width)) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hashes_meet_as_often_as_a_random_function_would_have_them() {
        const WIDTH: u32 = 16;
        const SEEDS: u64 = 20_000;
        // Pairs that a weak family would treat alike: neighbours, one bit apart at either end, halves exchanged.
        let pairs = [(0, 1), (5, 5 | 1 << 63), (1 << 32, 1), (0x0123_4567_89ab_cdef, 0x89ab_cdef_0123_4567)];
        for (x, y) in pairs {
            // By the number of rows in which they meet.
            let mut met = [0_u32; 4];
            for seed in 0..SEEDS {
                let rows = RowHash::draw(&Seed::new(seed), 7);
                let meets = |row: &&RowHash| place(row.word(x), WIDTH) == place(row.word(y), WIDTH);
                met[rows[..3].iter().filter(meets).count()] += 1;
            }
            let p = 1.0 / f64::from(WIDTH);
            let expected =
                [(1.0 - p).powi(3), 3.0 * p * (1.0 - p).powi(2), 3.0 * p * p * (1.0 - p), p.powi(3)];
            for (met, share) in met.iter().zip(expected) {
                let mean = share * SEEDS as f64;
                assert!(
                    (f64::from(*met) - mean).abs() < 5.0 * mean.sqrt() + 1.0,
                    "{x:x} {y:x}: {met} for {mean}"
                );
            }
        }
    }

    #[test]
    fn places_lie_within_the_width() {
        for width in [1, 2, 3, 1000, u32::MAX] {
            assert_eq!(place(0, width), 0);
            assert_eq!(place(u32::MAX, width), width as usize - 1);
        }
    }
}
