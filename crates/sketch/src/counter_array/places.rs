//! The way from a key's one hash to its counter in every row.

use crate::row_hash::MAX_ROWS;
use packet::Seed;

/// The purpose of the draws: structures of other kinds with the same seed have other rows.
const PURPOSE: u64 = 1;

/// The bit of a place that holds its sign, for policies that have one.
const SIGN: u32 = 1 << 31;

/// A counter's place in the whole array, with the sign by which it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignedPosition(u32);

impl SignedPosition {
    /// The counter's number.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        (self.0 & !SIGN) as usize
    }

    /// The counter's number under a policy without signs.
    #[inline(always)]
    pub(super) fn unsigned(self) -> usize {
        self.0 as usize
    }

    /// True if the counter falls by what is added.
    #[inline(always)]
    pub(super) fn is_negative(self) -> bool {
        self.0 & SIGN != 0
    }
}

/// A strongly universal function of 64 bits to 64 bits: ⌊(a·x + b mod 2¹²⁸) / 2⁶⁴⌋ for random a and b
/// (multiply-shift; Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer
/// arithmetic without primes", STACS 1996). For two hashes any two values are equally likely, and so are any
/// of their digits, each separately.
///
/// The hash's own digits would suffice, but they are used elsewhere: if they choose the core, each core's
/// array would use only a part of its first row.
#[derive(Clone, Copy, Debug)]
struct MultiplyShift {
    a: [u64; 2],
    b: [u64; 2],
}

impl MultiplyShift {
    #[inline(always)]
    fn multiply(&self, hash: u64) -> u64 {
        let wide = |words: [u64; 2]| u128::from(words[1]) << 64 | u128::from(words[0]);
        (wide(self.a).wrapping_mul(u128::from(hash)).wrapping_add(wide(self.b)) >> 64) as u64
    }
}

/// The rows' functions.
///
/// A row's place is a digit of a word: taken for a fraction, the word times the width has the place before
/// the point and the next row's fraction after it. One word suffices for rows of 64 bits together, such as
/// three of a million counters; for 54 if the width is no power of two, so that no place is likelier than
/// another by more than a thousandth. Other rows begin with a new word.
#[derive(Clone, Debug)]
pub(super) struct RowLocator {
    words: [MultiplyShift; MAX_ROWS],
    /// Rows that begin with a new word: the first one does.
    begins: [bool; MAX_ROWS],
    width: u32,
}

impl RowLocator {
    /// Draws the places of rows of `width` counters, each with a sign where the policy has them.
    pub(super) fn draw(seed: &Seed, width: usize, has_signs: bool) -> Self {
        let secrets: [u64; 4 * MAX_ROWS] = seed.secrets(PURPOSE);
        let word = |row: usize| {
            let [a, b, c, d] = std::array::from_fn(|i| secrets[4 * row + i]);
            MultiplyShift { a: [a, b], b: [c, d] }
        };
        let values = if has_signs { 2 * width } else { width };
        let bits = if values.is_power_of_two() { 64.0 } else { 54.0 };
        let rows_of_a_word = (bits / (values as f64).log2().max(1.0)) as usize;
        Self {
            words: std::array::from_fn(word),
            begins: std::array::from_fn(|row| row % rows_of_a_word.max(1) == 0),
            width: width as u32,
        }
    }

    /// True if `depth` rows have one word together.
    pub(super) fn are_of_one_word(&self, depth: usize) -> bool {
        self.begins[..depth].iter().filter(|begins| **begins).count() == 1
    }

    /// The places of the first `D` rows. `ONE_WORD` must be [`RowLocator::are_of_one_word`], `SIGNS` the
    /// policy's.
    #[inline(always)]
    pub(super) fn place_first<const D: usize, const ONE_WORD: bool, const SIGNS: bool>(
        &self,
        hash: u64,
    ) -> [SignedPosition; D] {
        let mut rest = self.words[0].multiply(hash);
        let values = if SIGNS { 2 * u64::from(self.width) } else { u64::from(self.width) };
        let mut first = 0_u32;
        std::array::from_fn(|row| {
            if !ONE_WORD && self.begins[row] {
                rest = self.words[row].multiply(hash);
            }
            let product = u128::from(rest) * u128::from(values);
            rest = product as u64;
            let value = (product >> 64) as u32;
            let (value, sign) = if SIGNS { (value >> 1, value << 31) } else { (value, 0) };
            // Places beyond the depth may wrap: they are not used.
            let place = first.wrapping_add(value) | sign;
            first = first.wrapping_add(self.width);
            SignedPosition(place)
        })
    }

    /// The places of all rows that there could be, for questions.
    pub(super) fn all<const SIGNS: bool>(&self, hash: u64) -> [SignedPosition; MAX_ROWS] {
        self.place_first::<MAX_ROWS, false, SIGNS>(hash)
    }
}

/// Runs a program that is compiled for every depth, so that its loops over the rows are unrolled.
macro_rules! with_depth {
    ($depth:expr, $d:ident => $program:expr) => {
        with_depth!(@ $depth, $d, $program, 1 2 3 4 5 6 7)
    };
    (@ $depth:expr, $d:ident, $program:expr, $($row:literal)*) => {
        match $depth {
            $($row => {
                const $d: usize = $row;
                $program
            })*
            _ => {
                const $d: usize = $crate::row_hash::MAX_ROWS;
                $program
            }
        }
    };
}
pub(super) use with_depth;

#[cfg(test)]
mod tests {
    use super::*;

    /// Over many seeds, how often two hashes collide in none, one, … of three rows, and how evenly one of
    /// them is spread.
    fn meet_as_random_ones_would<const SIGNS: bool>(width: usize) {
        const SEEDS: u64 = 20_000;
        let values = (width << usize::from(SIGNS)) as f64;
        // Pairs that a weak family would treat alike: neighbours, one bit apart at either end, halves exchanged.
        let pairs = [(0, 1), (5, 5 | 1 << 63), (1 << 32, 1), (0x0123_4567_89ab_cdef, 0x89ab_cdef_0123_4567)];
        for (x, y) in pairs {
            let mut met = [0_u32; 4];
            let mut low = [0_u32; 3];
            for seed in 0..SEEDS {
                let places = RowLocator::draw(&Seed::new(seed), width, SIGNS);
                let [x, y] = [x, y].map(|hash| places.place_first::<3, true, SIGNS>(hash));
                met[x.iter().zip(y).filter(|(x, y)| **x == *y).count()] += 1;
                for (row, (low, place)) in low.iter_mut().zip(x).enumerate() {
                    assert!((row * width..(row + 1) * width).contains(&place.index()));
                    assert!(SIGNS || place.unsigned() == place.index());
                    *low += u32::from(place.index() - row * width < width / 2);
                }
            }
            let check = |count: u32, share: f64| {
                let mean = share * SEEDS as f64;
                assert!(
                    (f64::from(count) - mean).abs() < 5.0 * mean.sqrt() + 1.0,
                    "{x:x} {y:x}: {count}, {mean}"
                );
            };
            let p = 1.0 / values;
            let shares = [(1.0 - p).powi(3), 3.0 * p * (1.0 - p).powi(2), 3.0 * p * p * (1.0 - p), p.powi(3)];
            met.into_iter().zip(shares).for_each(|(count, share)| check(count, share));
            low.into_iter().for_each(|count| check(count, (width / 2) as f64 / width as f64));
        }
    }

    #[test]
    fn two_hashes_meet_as_often_as_a_random_function_would_have_them() {
        meet_as_random_ones_would::<false>(16);
        meet_as_random_ones_would::<false>(11);
        meet_as_random_ones_would::<true>(8);
        meet_as_random_ones_would::<true>(7);
    }

    #[test]
    fn rows_that_do_not_fit_into_a_word_begin_with_another() {
        let begins = |width, signs| {
            let places = RowLocator::draw(&Seed::new(1), width, signs);
            places.begins.iter().map(|begins| u8::from(*begins)).collect::<Vec<_>>()
        };
        assert_eq!(begins(1 << 20, false), [1, 0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(begins(1_000_000, false), [1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(begins(1 << 20, true), [1, 0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(begins(1 << 21, true), [1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(begins(1, false), [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(begins((1 << 31) - 1, false), [1; 8]);
        let places = RowLocator::draw(&Seed::new(1), 1 << 20, false);
        assert!(places.are_of_one_word(3) && !places.are_of_one_word(4));
        // Whether the rows have one word is known in two ways.
        assert_eq!(places.place_first::<3, true, false>(99), places.place_first::<3, false, false>(99));
    }
}
