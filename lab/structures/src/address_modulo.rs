//! Count-Min whose rows take addresses modulo their width in place of hash functions (Makwana, "Software based measurement sketch using DPDK
//! pipeline", design, step 2).

use packet::KeyV4;
use sketch::parts::filled;
use sketch::{
    Configuration, Estimate, Frequency, Grid, GridConfig, Merge, SketchError, Summary, Unmergeable, Update,
    UpdateBurst,
};

/// Three rows of counters. The report takes an address as a number modulo 1,024 and does not say how three numbers come from two addresses:
/// here they are the source, the destination, and the sum of both.
///
/// It is Count-Min with functions that are no secret. Addresses of a plan, alike in their last bits, share counters, and a sender can
/// choose addresses that do: the bound of Count-Min does not hold, only that no flow has more than its least counter.
#[derive(Clone, Debug)]
pub struct AddressModulo {
    config: GridConfig<Self>,
    counters: Box<[u32]>,
    total: u64,
}

const ROWS: usize = 3;

impl Grid for AddressModulo {
    const KIND: &'static str = "address modulo width";
    const ROWS: std::ops::RangeInclusive<usize> = ROWS..=ROWS;
    const DEFAULT_ROWS: usize = ROWS;

    fn bytes(rows: usize, width: usize) -> usize {
        rows * width * size_of::<u32>()
    }
}

impl AddressModulo {
    /// Returns the sum of all weights.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The counters of a key, one in each row.
    #[inline]
    fn places(&self, key: &KeyV4) -> [usize; ROWS] {
        let bytes = key.to_bytes();
        let address = |at: usize| u64::from(u32::from_be_bytes(std::array::from_fn(|i| bytes[at + i])));
        let (source, destination) = (address(0), address(4));
        let width = self.config.width;
        let numbers = [source, destination, source + destination];
        std::array::from_fn(|row| row * width + (numbers[row] % width as u64) as usize)
    }
}

impl Summary for AddressModulo {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self { config: config.clone(), counters: filled(config.cells(), 0)?, total: 0 })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.counters.fill(0);
        self.total = 0;
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl UpdateBurst<KeyV4> for AddressModulo {
    fn update_burst(&mut self, burst: &[Update<KeyV4>]) {
        for update in burst {
            for place in self.places(&update.key) {
                let counter = &mut self.counters[place];
                *counter = u32::try_from(update.weight).map_or(u32::MAX, |more| counter.saturating_add(more));
            }
            self.total = self.total.saturating_add(update.weight);
        }
    }
}

impl Merge for AddressModulo {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.counters.iter_mut().zip(&other.counters).for_each(|(ours, theirs)| {
            *ours = ours.saturating_add(*theirs);
        });
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }
}

impl Frequency<KeyV4> for AddressModulo {
    fn estimate(&self, key: &KeyV4) -> Estimate {
        let least = self.places(key).map(|place| self.counters[place]).into_iter().min().unwrap_or(0);
        if least == u32::MAX {
            return Estimate::unbounded(least.into());
        }
        Estimate::bounded(least.into(), 0.0, least.into(), 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{self, BoundTally, OracleStream};
    use packet::Seed;

    fn config(width: usize) -> GridConfig<AddressModulo> {
        GridConfig::with_width(width, Seed::new(1))
    }

    fn pair(source: u32, destination: u32) -> Update<KeyV4> {
        let [a, b] = [source, destination].map(u32::to_be_bytes);
        let addresses = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
        Update::new(KeyV4::new(addresses, [0; 4], 0), 1, &Seed::new(1))
    }

    #[test]
    fn no_flow_has_more_than_its_least_counter() {
        let stream = OracleStream::bytes(20_000, 3_000, 1);
        let array: AddressModulo = oracle::summary_of(&config(1_024), &stream.updates);
        assert_eq!(array.total(), stream.total);
        let mut promise = BoundTally::default();
        stream.counts.iter().for_each(|(key, count)| promise.count(array.estimate(key), *count as f64));
        promise.must_hold();
    }

    /// A sender that knows the rows chooses pairs that share all counters: each seems to have the packets of all.
    #[test]
    fn chosen_addresses_share_all_counters_and_others_none() {
        let chosen: Vec<_> = (0..500).map(|i| pair(7 + 1_024 * i, 100 + 2_048 * i)).collect();
        let others: Vec<_> = (0..1_000).map(|i| pair(i * 5 + 8, i * 7 + 101)).collect();
        let all: Vec<_> = chosen.iter().chain(&others).copied().collect();
        let array: AddressModulo = oracle::summary_of(&config(1_024), &all);
        assert!(chosen.iter().all(|update| array.estimate(&update.key).value >= 500.0));
        assert!(others.iter().all(|update| array.estimate(&update.key).value < 20.0));
    }

    #[test]
    fn merges_resets_sizes_and_refusals() {
        let (first, second) = (OracleStream::zipf(3_000, 700, 1), OracleStream::zipf(500, 90, 2));
        let answers = |array: &AddressModulo| {
            let mut answers: Vec<_> = first.counts.keys().map(|key| (*key, array.estimate(key))).collect();
            answers.sort_by_key(|(key, _)| *key);
            (array.total(), answers)
        };
        oracle::reset_equals_new(&config(64), &first.updates, &second.updates, answers);
        oracle::merge_equals_one_pass(&config(64), &first.updates, answers);
        oracle::do_not_merge::<AddressModulo>(&config(64), &config(65));
        oracle::check_sizes::<AddressModulo>();
        assert!(AddressModulo::new(&config(0)).is_err());
        let full: AddressModulo =
            oracle::summary_of(&config(64), &[Update { weight: u64::MAX, ..pair(1, 2) }]);
        assert_eq!(full.estimate(&pair(1, 2).key).bounds, None);
    }
}
