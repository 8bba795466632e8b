//! The Simple Hash Table as published: one row of counters, each with the first key that met it (Alipourfard et al.,
//! HotNets 2015, section 3.1; Wu et al. 2016, section 2.2.3).

use super::grid::{BURST, Grid, GridConfig};
use super::memory::{filled, prefetch};
use super::row_hash::{RowHash, place};
use super::{Configuration, SketchError};
use super::{Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, Summary, Unmergeable, Update, UpdateBurst};
use packet::Key;

/// What its hash function is drawn for.
pub(crate) const PURPOSE: u64 = 0x5117;

/// One row of counters; the key is never checked, so flows that share a counter are one to it. Its answers are
/// estimates without a bound: [`CheckedHashTable`](super::CheckedHashTable) has one.
///
/// Counters are 32 bits and saturate, which is counted. They lie apart from the keys: a packet touches one counter, and a
/// key only where it is the first, so that a million entries work in 4 MB.
#[derive(Clone, Debug)]
pub struct SimpleHashTable<K> {
    config: GridConfig<Self>,
    hash: RowHash,
    counts: Box<[u32]>,
    /// Valid where the count is not 0.
    keys: Box<[K]>,
    saturated: u64,
    /// No counter has more than all that was added.
    added: u64,
}

impl<K> Grid for SimpleHashTable<K> {
    const KIND: &'static str = "Simple Hash Table";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const USUAL_ROWS: usize = 1;

    fn bytes(_: usize, width: usize) -> usize {
        width * (size_of::<u32>() + size_of::<K>())
    }
}

impl<K: Key> SimpleHashTable<K> {
    /// Updates that met a counter at its end, and could not be counted in full.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Sum of all counters: the weight of all that was counted, where none saturated.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// The total weight of the key with this hash.
    pub fn estimate_hash(&self, hash: u64) -> Estimate {
        let at = place(self.hash.word(hash), self.config.width as u32);
        Estimate::unbounded(self.counts[at].into())
    }

    /// An entry as another table had it.
    pub(crate) fn set(&mut self, at: usize, key: K, count: u32, saturated: u64) {
        (self.keys[at], self.counts[at]) = (key, count);
        self.saturated += saturated;
        self.added = self.added.saturating_add(count.into());
    }

    /// The kept keys and their counters.
    fn kept(&self) -> impl Iterator<Item = (&K, u32)> {
        self.keys.iter().zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }
}

/// Adds, up to the end, which is counted in `saturated`. `MAY_END`: false where all that was ever added ends before.
#[inline(always)]
pub(crate) fn grow<const MAY_END: bool>(count: &mut u32, weight: u64, saturated: &mut u64) {
    if !MAY_END {
        *count = count.wrapping_add(weight as u32);
        return;
    }
    // One addition in memory and a branch that is never taken.
    let (sum, is_over) = count.overflowing_add(weight as u32);
    *count = sum;
    if is_over | (weight > u64::from(u32::MAX)) {
        stop(count, saturated);
    }
}

#[cold]
fn stop(count: &mut u32, saturated: &mut u64) {
    *count = u32::MAX;
    *saturated += 1;
}

/// `count` and `weight`, or the end; and 1 where that is less.
#[inline(always)]
pub(crate) fn add(count: u32, weight: u64) -> (u32, u64) {
    let sum = u64::from(count).saturating_add(weight);
    (u32::try_from(sum).unwrap_or(u32::MAX), u64::from(sum > u64::from(u32::MAX)))
}

impl<K: Key> Summary for SimpleHashTable<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, PURPOSE)[0],
            counts: filled(config.width, 0)?,
            keys: filled(config.width, K::default())?,
            saturated: 0,
            added: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.counts.fill(0);
        (self.saturated, self.added) = (0, 0);
    }

    fn bytes(&self) -> usize {
        Self::Configuration::bytes(&self.config)
    }
}

impl<K: Key> UpdateBurst<K> for SimpleHashTable<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let weight = burst.iter().fold(0_u64, |sum, update| sum.saturating_add(update.weight));
        self.add(burst, weight, |update| *update);
    }

    fn count_keys(&mut self, keys: &[K]) {
        let seed = self.config.seed;
        self.add(keys, keys.len() as u64, |key| Update::new(*key, 1, &seed));
    }
}

impl<K: Key> SimpleHashTable<K> {
    /// Counts packets that weigh `weight` together.
    #[inline(always)]
    fn add<Packet>(&mut self, burst: &[Packet], weight: u64, of: impl Fn(&Packet) -> Update<K>) {
        self.added = self.added.saturating_add(weight);
        if self.added < u32::MAX.into() {
            self.add_to_counts::<false, Packet>(burst, of);
        } else {
            self.add_to_counts::<true, Packet>(burst, of);
        }
    }

    #[inline(always)]
    fn add_to_counts<const MAY_END: bool, Packet>(
        &mut self,
        burst: &[Packet],
        of: impl Fn(&Packet) -> Update<K>,
    ) {
        let width = self.config.width as u32;
        let mut places = [0_u32; BURST];
        for burst in burst.chunks(BURST) {
            for (at, packet) in places.iter_mut().zip(burst) {
                *at = place(self.hash.word(of(packet).hash), width) as u32;
                prefetch(&self.counts, *at as usize);
            }
            for (&at, packet) in places.iter().zip(burst) {
                // The hash is not asked for again.
                let Update { key, weight, .. } = of(packet);
                let count = &mut self.counts[at as usize];
                if *count == 0 {
                    self.keys[at as usize] = key;
                }
                grow::<MAY_END>(count, weight, &mut self.saturated);
            }
        }
    }
}

/// As one pass over both streams, `other`'s after ours.
impl<K: Key> Merge for SimpleHashTable<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        let ours = self.counts.iter_mut().zip(&mut self.keys);
        for ((count, key), (other_count, other_key)) in ours.zip(other.counts.iter().zip(&other.keys)) {
            if *count == 0 {
                *key = *other_key;
            }
            let (sum, over) = add(*count, u64::from(*other_count));
            *count = sum;
            self.saturated += over;
        }
        self.saturated += other.saturated;
        self.added = self.added.saturating_add(other.added);
        Ok(())
    }
}

impl<K: Key> Frequency<K> for SimpleHashTable<K> {
    fn estimate(&self, key: &K) -> Estimate {
        self.estimate_hash(key.hash(&self.config.seed))
    }
}

impl<K: Key> HeavyHitters<K> for SimpleHashTable<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let heavy = self.kept().filter(|(_, count)| u64::from(*count) >= threshold);
        HeavyKeys::new(heavy.map(|(key, count)| (*key, Estimate::unbounded(count.into()))).collect(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, Stream};
    use super::*;
    use packet::{KeyV4, Seed};
    use std::collections::HashMap;

    type Table = SimpleHashTable<KeyV4>;

    #[test]
    fn every_counter_is_the_sum_of_its_flows_and_keeps_the_first_of_them() {
        for number in 0..20 {
            let stream = Stream::zipf(20_000, 5_000, number);
            let config = GridConfig::with_width(700, Seed::new(number));
            let table: Table = oracle::summary_of(&config, &stream.updates);
            let (mut sums, mut firsts) = (HashMap::new(), HashMap::new());
            for update in &stream.updates {
                let at = place(table.hash.word(update.hash), 700);
                *sums.entry(at).or_insert(0_u64) += update.weight;
                firsts.entry(at).or_insert(update.key);
            }
            let list = table.heavy_hitters(1).keys;
            assert_eq!(list.len(), firsts.len());
            assert_eq!(table.total(), sums.values().sum::<u64>());
            for (key, estimate) in list {
                let at = place(table.hash.word(key.hash(&config.seed)), 700);
                assert_eq!((firsts[&at], sums[&at] as f64), (key, estimate.value));
            }
            for key in stream.counts.keys() {
                let at = place(table.hash.word(key.hash(&config.seed)), 700);
                assert_eq!(table.estimate(key), Estimate::unbounded(sums[&at] as f64));
            }
        }
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (stream, second) = (Stream::zipf(9_000, 3_000, 1), Stream::bytes(5_000, 900, 2));
        let config = GridConfig::with_width(500, Seed::new(1));
        let answers = |table: &Table| oracle::all_answers(table, &stream);
        oracle::merge_equals_one_pass(&config, &stream.updates, answers);
        oracle::keys_count_as_packets(&config, &stream, answers);
        oracle::reset_equals_new(&config, &stream.updates, &second.updates, answers);
        oracle::do_not_merge::<Table>(&config, &GridConfig::with_width(501, config.seed));
        oracle::do_not_merge::<Table>(&config, &GridConfig::with_width(500, Seed::new(2)));
        oracle::sizes_are_kept::<Table>();
        assert!(Table::new(&GridConfig::with_width(0, config.seed)).is_err());
    }

    #[test]
    fn counters_stop_at_their_end_and_say_so() {
        let config = GridConfig::with_width(1, Seed::new(1));
        let update = |weight| Update::new(KeyV4::default(), weight, &config.seed);
        let mut table: Table = oracle::summary_of(&config, &[update(u64::from(u32::MAX) - 1)]);
        table.update_burst(&[update(1)]);
        assert_eq!(table.saturated(), 0);
        table.update_burst(&[update(1), update(u64::MAX)]);
        assert_eq!((table.saturated(), table.estimate(&KeyV4::default()).value), (2, f64::from(u32::MAX)));
        let other = table.clone();
        let first: Table = oracle::summary_of(&config, &[update(1 << 32)]);
        assert_eq!((first.saturated(), first.estimate(&KeyV4::default()).value), (1, f64::from(u32::MAX)));
        table.merge(&other).expect("equal configurations");
        assert_eq!((table.saturated(), table.estimate(&KeyV4::default()).value), (5, f64::from(u32::MAX)));
    }
}
