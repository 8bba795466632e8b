//! Drawing flows: ranks by Zipf's law, in constant time per draw.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Draws ranks `0..flows`, rank `r` with a probability proportional to `1 / (r + 1)^s`.
#[derive(Clone, Debug)]
pub struct RankDraw {
    flows: u32,
    /// Empty for equal probabilities.
    cells: Vec<AliasCell>,
    random: Xoshiro256PlusPlus,
}

/// A cell of the alias table (Walker 1977): it yields its own rank below the threshold, else `alias`.
#[derive(Clone, Copy, Debug)]
struct AliasCell {
    threshold: u32,
    alias: u32,
}

impl AliasCell {
    /// `own` below the threshold, else the alias; without a branch, which would be mispredicted every third time
    /// and then wait for the cell's cache miss.
    #[inline(always)]
    fn choose(self, own: u32, fraction: u32) -> u32 {
        let keep = u32::from(fraction < self.threshold).wrapping_neg();
        (own & keep) | (self.alias & !keep)
    }
}

impl RankDraw {
    /// `flows` at least 1, `zipf` at least 0 (0 draws uniformly).
    pub fn new(flows: u32, zipf: f64, seed: u64) -> Self {
        let exponent = Exponent::new(zipf);
        let cells = if exponent.is_zero() { Vec::new() } else { alias_table(flows, exponent) };
        Self { flows, cells, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The next ranks. Many in one call: the cache misses of a large table then overlap.
    pub fn draw(&mut self, ranks: &mut [u32]) {
        for rank in ranks {
            // The product's upper half is a cell, its lower half a fraction that is independent of the cell.
            let product = u128::from(self.random.next_u64()) * u128::from(self.flows);
            let own = (product >> 64) as u32;
            *rank = match self.cells.get(own as usize) {
                Some(cell) => cell.choose(own, (product >> 32) as u32),
                None => own,
            };
        }
    }
}

/// An exponent as an integer and a binary fraction.
#[derive(Clone, Copy, Debug)]
struct Exponent {
    whole: u32,
    /// The fraction in units of `2^-FRACTION_BITS`.
    fraction: u32,
}

const FRACTION_BITS: u32 = 20;

impl Exponent {
    fn new(zipf: f64) -> Self {
        let units = (zipf * f64::from(1 << FRACTION_BITS)).round() as u32;
        Self { whole: units >> FRACTION_BITS, fraction: units & ((1 << FRACTION_BITS) - 1) }
    }

    fn is_zero(self) -> bool {
        self.whole == 0 && self.fraction == 0
    }

    /// `1 / (rank + 1)^self`. The fraction's bits choose among the repeated square roots, because `powf` may
    /// differ between platforms and `sqrt` may not.
    fn weight(self, rank: u32) -> f64 {
        let base = f64::from(rank) + 1.0;
        let mut power = 1.0;
        for _ in 0..self.whole {
            power *= base;
        }
        let (mut root, mut bit, mut rest) = (base, 1 << (FRACTION_BITS - 1), self.fraction);
        while rest != 0 {
            root = root.sqrt();
            if rest & bit != 0 {
                power *= root;
                rest ^= bit;
            }
            bit >>= 1;
        }
        1.0 / power
    }
}

/// Fills the cells in one sweep: weights fall with the rank, so that the ranks above the mean are the first
/// ones, and each of them in turn fills the cells of ranks below the mean with its excess.
fn alias_table(flows: u32, exponent: Exponent) -> Vec<AliasCell> {
    let mean = (0..flows).map(|rank| exponent.weight(rank)).sum::<f64>() / f64::from(flows);
    let threshold = |weight: f64| (weight / mean * 4_294_967_296.0) as u32;
    let mut cells: Vec<AliasCell> =
        (0..flows).map(|alias| AliasCell { threshold: u32::MAX, alias }).collect();

    let heavy = first_at_most(flows, mean, exponent);
    let mut giver = 0;
    let mut left = exponent.weight(giver);
    for rank in heavy..flows {
        let weight = exponent.weight(rank);
        cells[rank as usize] = AliasCell { threshold: threshold(weight), alias: giver };
        left -= mean - weight;
        while left < mean && giver + 1 < heavy {
            cells[giver as usize] = AliasCell { threshold: threshold(left), alias: giver + 1 };
            left += exponent.weight(giver + 1) - mean;
            giver += 1;
        }
    }
    cells
}

/// The first rank whose weight is at most `mean`, by bisection.
fn first_at_most(flows: u32, mean: f64, exponent: Exponent) -> u32 {
    let (mut low, mut high) = (0, flows);
    while low < high {
        let middle = low + (high - low) / 2;
        if exponent.weight(middle) > mean { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of each rank, by the library's `powf`.
    fn expected(flows: u32, zipf: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=flows).map(|rank| f64::from(rank).powf(-zipf)).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    #[test]
    fn the_table_holds_the_exact_probabilities() {
        for (flows, zipf) in [(1, 1.0), (2, 1.0), (3, 0.3), (1000, 1.0), (1000, 0.99), (777, 2.5), (50, 9.0)]
        {
            let mut mass = vec![0.0; flows as usize];
            for (rank, cell) in alias_table(flows, Exponent::new(zipf)).iter().enumerate() {
                let own = f64::from(cell.threshold) / 4_294_967_296.0;
                mass[rank] += own;
                mass[cell.alias as usize] += 1.0 - own;
            }
            for (rank, (mass, expected)) in mass.iter().zip(expected(flows, zipf)).enumerate() {
                let probability = mass / f64::from(flows);
                // A threshold has 32 bits; the exponent 20 binary places.
                let error = (probability - expected).abs();
                assert!(
                    error < 1e-9 + 1e-5 * expected,
                    "{flows} {zipf} rank {rank}: {probability} {expected}"
                );
            }
        }
    }

    #[test]
    fn drawn_frequencies_pass_a_chi_square_test() {
        const DRAWS: u32 = 2_000_000;
        for (flows, zipf) in [(1000, 0.0), (1000, 1.0), (1000, 1.3), (300, 0.5)] {
            let mut draw = RankDraw::new(flows, zipf, 42);
            let mut counts = vec![0u32; flows as usize];
            let mut ranks = vec![0; DRAWS as usize];
            draw.draw(&mut ranks);
            ranks.iter().for_each(|rank| counts[*rank as usize] += 1);
            let square: f64 = counts
                .iter()
                .zip(expected(flows, zipf))
                .map(|(&count, probability)| {
                    let mean = probability * f64::from(DRAWS);
                    (f64::from(count) - mean).powi(2) / mean
                })
                .sum();
            // The statistic's mean is its degrees of freedom d, its variance 2d: five deviations either way.
            let freedom = f64::from(flows - 1);
            let bound = 5.0 * (2.0 * freedom).sqrt();
            assert!((square - freedom).abs() < bound, "{flows} flows, zipf {zipf}: {square}");
        }
    }

    #[test]
    fn one_flow_is_always_drawn() {
        let mut ranks = [9; 1000];
        RankDraw::new(1, 1.0, 7).draw(&mut ranks);
        assert_eq!(ranks, [0; 1000]);
    }
}
