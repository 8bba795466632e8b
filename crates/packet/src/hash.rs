//! The seeded hash of keys: NH (Black et al., UMAC, CRYPTO '99; RFC 4418) over 64-bit words, folded.
//!
//! NH multiplies pairs of seed-added words, so that one 64×64→128 multiply per 16 key bytes is sufficient
//! (1.2 ns), and it is almost universal for a secret random seed: two chosen keys collide in the 128-bit sum
//! with a probability of 2⁻⁶⁴. The sum is then reduced by one multiply with a secret odd number, so that
//! every output bit depends on every input bit.

/// The secret numbers that select a hash function. Equal seeds give equal hashes on every machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    add: [u64; 6],
    fold: u64,
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA '14): the next of a stream of numbers, used to expand a seed and
/// for the draws of sketches.
#[inline]
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[inline(always)]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Seed {
    /// A seed from one number (`--seed`).
    pub fn new(number: u64) -> Self {
        let mut state = number;
        Self { add: std::array::from_fn(|_| split_mix(&mut state)), fold: split_mix(&mut state) | 1 }
    }

    /// Returns further secret numbers, different for each `purpose`: draws with them are independent of the hash.
    pub fn secrets<const N: usize>(&self, purpose: u64) -> [u64; N] {
        let mut state = self.hash5([purpose, 0x5ec2_e75f, 0, 0, 0]);
        std::array::from_fn(|_| split_mix(&mut state))
    }

    #[inline(always)]
    fn fold(&self, sum: u128) -> u64 {
        let mixed = wide((sum as u64) ^ ((sum >> 64) as u64).rotate_left(32), self.fold);
        (mixed as u64) ^ ((mixed >> 64) as u64)
    }

    /// Hash of two words.
    #[inline(always)]
    pub(crate) fn hash2(&self, w: [u64; 2]) -> u64 {
        self.fold(wide(w[0].wrapping_add(self.add[0]), w[1].wrapping_add(self.add[1])))
    }

    /// Hash of five words; the sixth is zero.
    #[inline(always)]
    pub(crate) fn hash5(&self, w: [u64; 5]) -> u64 {
        let pair =
            |i: usize, a: u64, b: u64| wide(a.wrapping_add(self.add[i]), b.wrapping_add(self.add[i + 1]));
        self.fold(pair(0, w[0], w[1]).wrapping_add(pair(2, w[2], w[3])).wrapping_add(pair(4, w[4], 0)))
    }
}

impl Seed {
    /// Hash of any number of words. For two and for five words it is that of a key with these words.
    #[inline(always)]
    pub fn hash_words<const N: usize>(&self, words: &[u64; N]) -> u64 {
        match N {
            2 => self.hash2([words[0], words[1]]),
            5 => self.hash5([words[0], words[1], words[2], words[3], words[4]]),
            _ => words.chunks(4).fold(N as u64, |hash, chunk| {
                let word = |at: usize| chunk.get(at).copied().unwrap_or(0);
                self.hash5([word(0), word(1), word(2), word(3), hash])
            }),
        }
    }
}

/// A seed is a secret: never printed.
impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(…)")
    }
}
