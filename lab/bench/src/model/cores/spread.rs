//! The evenness with which a hash spreads packets over cores: a flow is on one core, however many packets it has.

use super::super::popularity::Popularity;
use packet::split_mix;

/// Spreads that are tried; their mean counts.
const TRIALS: u64 = 32;

/// The share of the packets that the fullest of `cores` cores gets when a hash spreads flows over them: the mean over seeds.
///
/// Flows with a bin of their own are placed one by one. Those of a common bin are many and small, so that what a core gets of them is normal.
pub(super) fn fullest(popularity: &Popularity, cores: u64) -> f64 {
    if cores <= 1 {
        return 1.0;
    }
    let (share, number) = (1.0 / cores as f64, cores as usize);
    let mut sum = 0.0;
    for trial in 0..TRIALS {
        let mut random = 0x9E37_79B9 + trial;
        let mut loads = vec![0.0; number];
        for bin in &popularity.bins {
            if bin.entries <= 1.0 {
                let core = (u128::from(split_mix(&mut random)) * u128::from(cores)) >> 64;
                loads[core as usize] += bin.entries * bin.rate;
                continue;
            }
            let deviation = (bin.entries * share * (1.0 - share)).sqrt();
            for load in &mut loads {
                *load += bin.rate * (bin.entries * share + deviation * normal(&mut random)).max(0.0);
            }
        }
        let all: f64 = loads.iter().sum();
        sum += loads.iter().copied().fold(0.0, f64::max) / all;
    }
    sum / TRIALS as f64
}

/// A standard normal number (Box and Muller 1958).
fn normal(random: &mut u64) -> f64 {
    let mut uniform = || ((split_mix(random) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every flow placed by itself.
    fn placed(flows: u64, skew: f64, cores: usize) -> f64 {
        let weights: Vec<f64> = (1..=flows).map(|rank| (rank as f64).powf(-skew)).collect();
        let all: f64 = weights.iter().sum();
        let trials = 32;
        let sum: f64 = (0..trials)
            .map(|trial| {
                let mut random = 77_777 * (trial + 1);
                let mut loads = vec![0.0; cores];
                weights.iter().for_each(|weight| {
                    loads[(split_mix(&mut random) % cores as u64) as usize] += weight / all;
                });
                loads.iter().copied().fold(0.0, f64::max)
            })
            .sum();
        sum / trials as f64
    }

    #[test]
    fn the_fullest_core_is_that_of_flows_placed_one_by_one() {
        for (flows, skew) in [(1_000, 0.0), (100_000, 0.0), (100_000, 1.0), (20_000, 1.5)] {
            let popularity = Popularity::zipf(flows, skew);
            for cores in [2, 8, 64] {
                let (found, truth) = (fullest(&popularity, cores), placed(flows, skew, cores as usize));
                assert!((found / truth - 1.0).abs() < 0.12, "{flows} {skew} {cores}: {found}, not {truth}");
            }
        }
        assert_eq!(fullest(&Popularity::zipf(10, 1.0), 1), 1.0);
        // No spread is more even than the heaviest flow.
        assert!(fullest(&Popularity::zipf(1_000_000, 1.0), 64) >= 1.0 / 14.4);
    }
}
