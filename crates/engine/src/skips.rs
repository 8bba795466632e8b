//! The number of frames that are passed over before the next one is sampled, if each is sampled with the same probability.
//!
//! The numbers are geometrically distributed. Most are drawn from a table by Walker's alias method, without a logarithm or a division.

use flow::Share;
use packet::{Seed, split_mix};

/// Outcomes of the table: the numbers 0 to 62, and "63 or more", which a logarithm decides. 1 KiB.
const OUTCOMES: usize = 64;
const TAIL: usize = OUTCOMES - 1;
/// Bits of a random word that choose an entry; the others are compared with its threshold.
const ENTRY_BITS: u32 = OUTCOMES.ilog2();

/// An entry is its own outcome if what is drawn is below the threshold, and another one otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct AliasEntry {
    threshold: u64,
    alias: u64,
}

/// Draws how many frames are skipped. The same seed and number draw the same.
#[derive(Clone, Debug)]
pub(crate) struct Skips {
    state: u64,
    entries: [AliasEntry; OUTCOMES],
    /// The factor 1 / ln(1 − p).
    per_failing: f64,
}

impl Skips {
    /// Creates the draws of a receiver. `number`: that of the receiver, each of which draws other numbers.
    pub(crate) fn new(seed: &Seed, number: usize, share: Share) -> Self {
        let [state] = seed.secrets(0x7ee0_0000 + number as u64);
        let mut skips = Self { state, entries: [AliasEntry::default(); OUTCOMES], per_failing: 0.0 };
        skips.set(share);
        skips
    }

    /// Draws by another share from here on.
    pub(crate) fn set(&mut self, share: Share) {
        let p = share.probability();
        self.per_failing = (-p).ln_1p().recip();
        self.entries = entries(p);
    }

    /// The next number.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> u64 {
        let word = split_mix(&mut self.state);
        let own = word as usize % OUTCOMES;
        let AliasEntry { threshold, alias } = self.entries[own];
        let outcome = if word >> ENTRY_BITS < threshold { own as u64 } else { alias };
        if outcome == TAIL as u64 { self.long() } else { outcome }
    }

    /// Draws a number of 63 or more. The distribution has no memory: what is beyond is drawn as the whole.
    #[cold]
    fn long(&mut self) -> u64 {
        // In (0, 1], of which the logarithm is finite.
        let uniform = ((split_mix(&mut self.state) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        TAIL as u64 + (uniform.ln() * self.per_failing) as u64
    }
}

/// The table for this probability (Walker 1977; filled as Vose 1991 does).
fn entries(p: f64) -> [AliasEntry; OUTCOMES] {
    // Times the number of entries, so that an entry's weight is 1 on average.
    let mut weights: [f64; OUTCOMES] =
        std::array::from_fn(|outcome| OUTCOMES as f64 * p * (1.0 - p).powi(outcome as i32));
    weights[TAIL] = OUTCOMES as f64 * (1.0 - p).powi(TAIL as i32);
    let whole = (1_u64 << (u64::BITS - ENTRY_BITS)) as f64;
    // What has no entry that it shares is its own outcome.
    let mut entries = std::array::from_fn(|own| AliasEntry { threshold: u64::MAX, alias: own as u64 });
    // Two stacks in one array, from both ends: nothing is allocated, as shares change between windows.
    let (mut stacks, mut small, mut large) = ([0; OUTCOMES], 0, OUTCOMES);
    for (own, weight) in weights.iter().enumerate() {
        if *weight < 1.0 {
            stacks[small] = own;
            small += 1;
        } else {
            large -= 1;
            stacks[large] = own;
        }
    }
    while small > 0 && large < OUTCOMES {
        small -= 1;
        let (less, more) = (stacks[small], stacks[large]);
        entries[less] = AliasEntry { threshold: (weights[less] * whole) as u64, alias: more as u64 };
        weights[more] -= 1.0 - weights[less];
        if weights[more] < 1.0 {
            large += 1;
            stacks[small] = more;
            small += 1;
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(ppm: u32) -> Share {
        Share::from_ppm(ppm).expect("a share")
    }

    #[test]
    fn skips_are_geometrically_distributed() {
        for (ppm, draws) in [(500_000, 400_000), (150_000, 400_000), (20_000, 400_000), (100, 20_000)] {
            let p = share(ppm).probability();
            let mut skips = Skips::new(&Seed::new(7), 0, share(ppm));
            let drawn: Vec<u64> = (0..draws).map(|_| skips.draw()).collect();
            let n = f64::from(draws);
            let mean = drawn.iter().map(|skip| *skip as f64).sum::<f64>() / n;
            let spread = (1.0 - p).sqrt() / p;
            assert!((mean - (1.0 - p) / p).abs() < 5.0 * spread / n.sqrt(), "{ppm}: {mean}");
            // What the table draws, and what is beyond it: the chance of that number or more.
            for at in [1, 2, 10, 62, 63, 64, 100, 10_000] {
                let expected = (1.0 - p).powi(at);
                let seen = drawn.iter().filter(|skip| **skip >= at as u64).count() as f64 / n;
                let spread = (expected * (1.0 - expected) / n).sqrt();
                assert!((seen - expected).abs() <= 5.0 * spread + 1e-9, "{ppm} {at}: {seen} {expected}");
            }
        }
    }

    #[test]
    fn the_whole_skips_nothing_and_every_receiver_draws_its_own() {
        let mut all = Skips::new(&Seed::new(3), 0, Share::ALL);
        assert!((0..100_000).all(|_| all.draw() == 0));
        let drawn = |seed, number| {
            let mut skips = Skips::new(&Seed::new(seed), number, share(150_000));
            (0..64).map(|_| skips.draw()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 0), drawn(1, 0));
        assert_ne!(drawn(1, 0), drawn(1, 1));
        assert_ne!(drawn(1, 0), drawn(2, 0));
    }
}
