//! Linear combinations of counter arrays: what they tell of flows.

use super::bounds::median_confidence;
use super::places::RowLocator;
use super::policy::{Linear, median_of};
use super::{ArrayConfig, CounterArray};
use crate::combination::{Combination, SummedCounters};
use crate::confidence::CONFIDENCE;
use crate::deviations::{RowDeviations, is_told, least_not_reached};
use crate::row_hash::MAX_ROWS;
use crate::{CounterCell, Estimate};

impl<P: Linear> SummedCounters for CounterArray<P> {
    fn counters(&self) -> impl Iterator<Item = f64> {
        self.counters.iter().map(CounterCell::to_f64)
    }

    fn number_of_counters(configuration: &ArrayConfig<P>) -> usize {
        configuration.cells()
    }

    fn sum(&self) -> f64 {
        self.total()
    }

    fn weight(&self) -> f64 {
        self.added as f64 + self.removed as f64
    }

    fn is_saturated(&self) -> bool {
        self.added.max(self.removed) == u64::MAX || self.saturated_counters() > 0
    }
}

impl<P: Linear> Combination<CounterArray<P>> {
    /// The estimates of the flows of a list, by their hashes, from the median of the rows. Their bounds hold for all flows together, and so for those that were listed
    /// for their estimates.
    pub fn estimates_of_listed<K>(&self, flows: impl Iterator<Item = (K, u64)>) -> Vec<(K, Estimate)> {
        let config = self.configuration();
        let (depth, width) = (config.depth, config.width as f64);
        let places = RowLocator::draw(&config.seed, config.width, P::HAS_SIGNS);
        let mut noise = None;
        let estimate = |(key, hash)| {
            let places = if P::HAS_SIGNS { places.all::<true>(hash) } else { places.all::<false>(hash) };
            let mut rows = [0.0; MAX_ROWS];
            for (row, place) in rows.iter_mut().zip(places).take(depth) {
                let cell = self.cells[place.index()];
                *row = if P::HAS_SIGNS && place.is_negative() { -cell } else { cell };
            }
            let rows = &mut rows[..depth];
            rows.sort_unstable_by(f64::total_cmp);
            let value = P::without_others(median_of(rows), self.total, width);
            let noise: Option<f64> = *noise.get_or_insert_with(|| self.noise_of_all());
            let estimate = match noise {
                Some(noise) => {
                    // What is expected of other flows is taken from all, the flow itself included.
                    let off = noise + 2.0 * (value.abs() + noise) / width;
                    Estimate::bounded(value, value - off, value + off, CONFIDENCE)
                }
                None => Estimate::unbounded(value),
            };
            (key, estimate)
        };
        flows.map(estimate).collect()
    }

    /// Returns the bound that no flow's estimate is off by, for all flows together; `None` where the counters do not tell.
    fn noise_of_all(&self) -> Option<f64> {
        let (depth, width) = (self.configuration().depth, self.configuration().width);
        let mean = P::expected_of(self.total, width as f64);
        let deviations = |row: &[f64]| RowDeviations::new(row.iter().map(|cell| (cell - mean).abs()));
        let rows: Vec<_> = self.cells.chunks_exact(width).map(deviations).collect();
        let failing = |shares: &[f64]| {
            1.0 - median_confidence(depth, shares.iter().copied().fold(0.0, f64::max).min(1.0))
        };
        let least = least_not_reached(&rows, (width, 1.0), (self.counted, CONFIDENCE), failing);
        (!self.is_saturated && is_told(least)).then_some(least)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{CountSketch, KAry, Turnstile};
    use super::*;
    use crate::Summary;
    use crate::oracle::{self, BoundTally, OracleStream};
    use packet::{Key, KeyV4, Seed};
    use std::collections::HashMap;

    /// Half of one stream, less a tenth of another, against the same of the true totals.
    fn estimates_are_those_of_the_totals<P: Linear>() {
        let mut tally = BoundTally::default();
        for number in 0..12 {
            let seed = Seed::new(number);
            let config = ArrayConfig::<P>::new(5, 600, seed).expect("sizes");
            let mut combination = Combination::zero(&config).expect("memory");
            let mut truth: HashMap<KeyV4, f64> = HashMap::new();
            for (at, factor) in [(0, 0.5), (1, -0.1), (2, 1.0)] {
                let stream = OracleStream::zipf(10_000, 2_000, number + 100 * at);
                // All are hashed by one seed.
                let updates: Vec<_> =
                    stream.updates.iter().map(|update| crate::Update::new(update.key, 1, &seed)).collect();
                let array: CounterArray<P> = oracle::summary_of(&config, &updates);
                combination.add(factor, &array).expect("one configuration");
                stream
                    .counts
                    .iter()
                    .for_each(|(key, count)| *truth.entry(*key).or_default() += factor * *count as f64);
            }
            combination.scale(2.0);
            let mut twice = Combination::zero(&config).expect("memory");
            twice.add_combination(0.5, &combination).expect("one configuration");
            let total: f64 = truth.values().sum();
            assert!((twice.total() - total).abs() < 1e-6, "{} {total}", P::KIND);
            let mut largest: Vec<_> = twice
                .estimates_of_listed(truth.keys().map(|key| (*key, key.hash(&seed))))
                .into_iter()
                .collect();
            largest.sort_by(|(_, a), (_, b)| b.value.abs().total_cmp(&a.value.abs()));
            for (key, estimate) in largest.into_iter().take(40) {
                tally.count(estimate, truth[&key]);
            }
        }
        tally.must_hold();
    }

    #[test]
    fn combinations_estimate_what_was_combined() {
        estimates_are_those_of_the_totals::<KAry>();
        estimates_are_those_of_the_totals::<Turnstile>();
        estimates_are_those_of_the_totals::<CountSketch>();
    }

    /// With weights that a sketch without collisions adds up, the estimate is the number itself.
    #[test]
    fn a_combination_has_fractions_and_signs() {
        let seed = Seed::new(1);
        let config = ArrayConfig::<Turnstile>::new(3, 1 << 16, seed).expect("sizes");
        let key = KeyV4::new([1; 8], [0; 4], 6);
        let array: CounterArray<Turnstile> =
            oracle::summary_of(&config, &[crate::Update::new(key, 9, &seed)]);
        let mut combination = Combination::zero(&config).expect("memory");
        combination.add(-0.25, &array).expect("one configuration");
        let [(_, estimate)] = combination.estimates_of_listed([(key, key.hash(&seed))].into_iter())[..]
        else {
            panic!("one flow")
        };
        assert_eq!(estimate.value, -2.25);
        let other: CounterArray<Turnstile> =
            CounterArray::new(&ArrayConfig::new(3, 100, seed).expect("sizes")).expect("memory");
        assert!(combination.add(1.0, &other).is_err());
        assert_eq!(combination.total(), -2.25);
    }
}
