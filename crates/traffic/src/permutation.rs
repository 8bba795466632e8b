//! Seeded permutations of `0..2^bits`: they spread ranks over keys so that no two ranks share one.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::RngCore;

/// A bijection on the numbers of `bits` bits: rounds of "multiply by an odd number, xor the upper half into
/// the lower", each of which is invertible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    mask: u64,
    shift: u32,
    offset: u64,
    factors: [u64; 3],
}

impl Permutation {
    /// Draws a permutation of the numbers below `2^bits`, `bits` in 2..=63.
    pub(crate) fn draw(bits: u32, seeds: &mut SplitMix64) -> Self {
        Self {
            mask: (1 << bits) - 1,
            shift: bits.div_ceil(2),
            offset: seeds.next_u64(),
            factors: std::array::from_fn(|_| seeds.next_u64() | 1),
        }
    }

    /// The image of `number`.
    #[inline]
    pub(crate) fn at(&self, number: u64) -> u64 {
        self.factors.iter().fold((number ^ self.offset) & self.mask, |x, factor| {
            let x = x.wrapping_mul(*factor) & self.mask;
            x ^ (x >> self.shift)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn every_number_is_hit_once() {
        for bits in [2, 3, 11, 16] {
            for seed in 0..20 {
                let permutation = Permutation::draw(bits, &mut SplitMix64::seed_from_u64(seed));
                let mut hit = vec![false; 1 << bits];
                for number in 0..1 << bits {
                    let image = permutation.at(number) as usize;
                    assert!(!std::mem::replace(&mut hit[image], true), "{bits} bits, {image} twice");
                }
            }
        }
    }
}
