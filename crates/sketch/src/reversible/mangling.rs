//! A secret bijection of 32-bit keys.

use packet::Seed;

/// Multiplications with odd numbers carry low bits to high ones, shifts high bits to low ones: every bit of the result depends on
/// every bit of the key, which multiplication alone would not do for the low ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mangling {
    factors: [u32; 2],
    inverses: [u32; 2],
}

/// The inverse of an odd `factor`, modulo 2³²: by Newton's method, each step of which doubles the correct
/// bits.
fn inverse(factor: u32) -> u32 {
    (0..5).fold(factor, |x, _| x.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(x))))
}

impl Mangling {
    pub(super) fn new(seed: &Seed) -> Self {
        let factors = seed.secrets(0x3a46).map(|secret: u64| secret as u32 | 1);
        Self { factors, inverses: factors.map(inverse) }
    }

    #[inline(always)]
    pub(super) fn mangle(&self, key: u32) -> u32 {
        let key = (key ^ key >> 16).wrapping_mul(self.factors[0]);
        let key = (key ^ key >> 15).wrapping_mul(self.factors[1]);
        key ^ key >> 16
    }

    pub(super) fn unmangle(&self, mangled: u32) -> u32 {
        let key = (mangled ^ mangled >> 16).wrapping_mul(self.inverses[1]);
        let key = (key ^ key >> 15 ^ key >> 30).wrapping_mul(self.inverses[0]);
        key ^ key >> 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost(seed: u64, key: u32) {
            let mangling = Mangling::new(&Seed::new(seed));
            prop_assert_eq!(mangling.unmangle(mangling.mangle(key)), key);
            prop_assert_eq!(mangling.mangle(mangling.unmangle(key)), key);
        }
    }

    /// A changed bit changes each bit of the result in about half of the cases, low bits too.
    #[test]
    fn every_bit_matters_to_every_bit() {
        const KEYS: u32 = 4_000;
        let mangling = Mangling::new(&Seed::new(3));
        for bit in 0..32 {
            let mut changed = [0; 32];
            for key in (0..KEYS).map(|i| i.wrapping_mul(0x9e37_79b9)) {
                let change = mangling.mangle(key) ^ mangling.mangle(key ^ 1 << bit);
                (0..32).for_each(|i| changed[i] += change >> i & 1);
            }
            for (out, changed) in changed.into_iter().enumerate() {
                let share = f64::from(changed) / f64::from(KEYS);
                assert!((0.1..0.9).contains(&share), "bit {bit} changes bit {out} in {share} of the cases");
            }
        }
    }
}
