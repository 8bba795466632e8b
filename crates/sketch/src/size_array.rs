//! The flow size distribution without keys, by one row of counters (Kumar, Sung, Xu, Wang, "Data streaming algorithms for efficient and
//! accurate estimation of flow size distribution", SIGMETRICS 2004).

mod compound_poisson;

use super::grid::{Grid, GridConfig};
use super::memory::{filled, prefetch};
use super::row_hash::{RowHash, place};
use super::summary::BURST;
use super::{Configuration, Merge, SizeDistribution, SketchError, Summary, Unmergeable, Update, UpdateBurst};
use crate::CounterCell;

/// A row of counters that a flow's packets are added to; no key is kept, so that flows that share a counter count as one.
/// [`distribution`](SizeArray::distribution) separates their sums by how often each sum occurs: expectation maximisation as in the paper,
/// but over all ways to split a sum.
///
/// The weight is what is added: sizes are packets. Counters have 32 bits and stay at their limit, which is counted.
///
/// What to expect on Zipf(1), 146,000 flows: a weighted mean relative error (WMRE) of 1.5 % with 1.8 counters
/// a flow, 4.5 % with 0.45, 8 % with 0.22; with fewer it is known only roughly. If all counters are far above
/// a thousand they can no longer be separated, and each counts as one flow.
#[derive(Clone, Debug)]
pub struct SizeArray {
    config: GridConfig<Self>,
    hash: RowHash,
    /// The sum of the flows of each counter.
    cells: Box<[u32]>,
}

impl Grid for SizeArray {
    const KIND: &'static str = "size array";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;

    fn bytes(_: usize, width: usize) -> usize {
        width * size_of::<u32>()
    }
}

impl SizeArray {
    /// Returns the number of saturated counters: nothing is known of later packets.
    pub fn saturated(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_at_limit()).count()
    }

    /// Estimates the number of flows of each size: the most likely numbers, by at most a hundred rounds. A counter above 1,024 is one large
    /// flow and the mean of others. To be called once a window: up to a hundred million multiplications, and one pass over the counters.
    pub fn distribution(&self) -> SizeDistribution {
        SizeDistribution::from_weighted_sizes(compound_poisson::flows(&self.cells))
    }
}

impl Summary for SizeArray {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, 0x512e)[0],
            cells: filled(config.width, 0)?,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.cells.fill(0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for SizeArray {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let width = self.config.width as u32;
        let mut places = [0_u32; BURST];
        for burst in burst.chunks(BURST) {
            for (at, update) in places.iter_mut().zip(burst) {
                *at = place(self.hash.word(update.hash), width) as u32;
                prefetch(&self.cells, *at as usize);
            }
            for (at, update) in places.iter().zip(burst) {
                let cell = &mut self.cells[*at as usize];
                *cell = cell.plus(update.weight);
            }
        }
    }
}

/// Merging gives the counters of one pass over both streams.
impl Merge for SizeArray {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.cells.iter_mut().zip(&other.cells).for_each(|(ours, theirs)| *ours = ours.sum(*theirs));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, OracleStream};
    use super::*;
    use packet::Seed;

    fn config(width: usize, number: u64) -> GridConfig<SizeArray> {
        GridConfig::with_width(width, Seed::new(number))
    }

    /// WMRE and the relative error of the entropy, against a map.
    fn errors(width: usize, number: u64) -> (f64, f64) {
        let stream = OracleStream::zipf(100_000, 30_000, number);
        let truth = SizeDistribution::from_sizes(stream.counts.values().copied());
        let array: SizeArray = oracle::summary_of(&config(width, number), &stream.updates);
        let distribution = array.distribution();
        let packets = distribution.packets();
        assert!((packets / 1e5 - 1.0).abs() < 0.01, "{packets} packets");
        let [entropy, true_entropy] = [&distribution, &truth].map(|of| of.entropy().expect("flows"));
        (distribution.wmre(&truth), entropy / true_entropy - 1.0)
    }

    #[test]
    fn distributions_and_entropies_are_near_the_true_ones() {
        // Some 15,000 flows: 1.7 counters each, and 0.45.
        for (width, most_off, entropy_off) in [(26_214, 0.1, 0.005), (6_554, 0.2, 0.01)] {
            let errors: Vec<_> = (0..20).map(|number| errors(width, number)).collect();
            for (wmre, entropy) in &errors {
                assert!(*wmre < most_off && entropy.abs() < entropy_off, "{width}: {wmre}, {entropy}");
            }
            let mean = errors.iter().map(|(_, entropy)| entropy).sum::<f64>() / 20.0;
            assert!(mean.abs() < entropy_off / 2.0, "{width}: entropies are off by {mean} in the mean");
        }
    }

    #[test]
    fn one_flow_is_known_exactly() {
        let update = Update { key: (), hash: 7, weight: 500 };
        let array: SizeArray = oracle::summary_of(&config(1_000, 1), &[update; 10]);
        let of: Vec<_> = array.distribution().iter().filter(|(_, flows)| *flows > 0.01).collect();
        assert_eq!(of, [(5_000, 1.0)]);
    }

    #[test]
    fn counters_at_their_limit_stay_and_are_counted() {
        let updates: Vec<_> =
            (0..2).map(|hash| Update { key: (), hash, weight: u64::MAX - 5 * hash }).collect();
        let mut array: SizeArray = oracle::summary_of(&config(1 << 20, 1), &updates);
        assert_eq!(array.saturated(), 2);
        array.merge(&array.clone()).expect("equal configurations");
        assert_eq!((array.saturated(), array.distribution().flows()), (2, 2.0));
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (stream, second) = (OracleStream::zipf(20_000, 5_000, 1), OracleStream::zipf(1_000, 300, 2));
        let config = config(3_001, 1);
        oracle::merge_equals_one_pass(&config, &stream.updates, SizeArray::distribution);
        oracle::reset_equals_new(&config, &stream.updates, &second.updates, SizeArray::distribution);
        oracle::do_not_merge::<SizeArray>(&config, &GridConfig::with_width(3_002, config.seed));
        oracle::do_not_merge::<SizeArray>(&config, &GridConfig::with_width(3_001, Seed::new(2)));
        oracle::check_sizes::<SizeArray>();
        assert!(SizeArray::new(&GridConfig::with_width(0, config.seed)).is_err());
        assert!(SizeArray::new(&GridConfig::new(2, 5, config.seed)).is_err());
        let empty = SizeArray::new(&config).expect("a structure").distribution();
        assert_eq!((empty.flows(), empty.entropy()), (0.0, None));
    }
}
