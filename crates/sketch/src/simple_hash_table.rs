//! The Simple Hash Table as published: one row of counters, each with the first key that met it (Alipourfard et al.,
//! HotNets 2015, section 3.1; Wu et al. 2016, section 2.2.3).

use super::count_min::count_min;
use super::counters::{CounterView, SplitCounters, Weights, add};
use super::grid::{Grid, GridConfig};
use super::memory::filled;
use super::row_hash::{RowHash, place};
use super::summary::BURST;
use super::{Configuration, SketchError};
use super::{Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, Summary, Unmergeable, Update, UpdateBurst};
use packet::Key;
use std::cmp::Reverse;

/// The purpose of its hash function.
pub(crate) const PURPOSE: u64 = 0x5117;

/// A row of counters; the key is never checked, so flows that share a counter count as one. The answer for a flow is that of one row of
/// Count-Min, with that bound (1 − 1/e), and an entry names its first flow. The lab has one that checks it (`CheckedHashTable`), and is
/// certain of both.
///
/// A list names the key of each entry, however little of the counter is its own: which flows come first is the
/// stream's choice and not the seed's, so that no probability bounds the rest. The bounds of a list are therefore
/// certain ones: the key had at least one packet, and no more than the counter.
///
/// Counters are 32 bits and saturate, which is counted. They are stored separately from the keys: a packet
/// touches one counter, and a key only if it is the first. Packets that are counted one by one use a byte per
/// entry if there are many entries (`counters.rs`), so that a million entries use a megabyte.
#[derive(Clone, Debug)]
pub struct SimpleHashTable<K> {
    config: GridConfig<Self>,
    hash: RowHash,
    counts: SplitCounters<u32>,
    /// The keys, valid where the count is not 0.
    keys: Box<[K]>,
    /// The counter of the part that each key comes from; empty before the first merge, where that is all of it.
    parts: Box<[u32]>,
    saturated: u64,
    /// No counter has more than all that was added.
    added: u64,
}

impl<K> Grid for SimpleHashTable<K> {
    const KIND: &'static str = "Simple Hash Table";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;

    fn bytes(_: usize, width: usize) -> usize {
        SplitCounters::<u32>::bytes_of(width) + width * size_of::<K>()
    }
}

impl<K: Key> SimpleHashTable<K> {
    /// Updates of a saturated counter that could not be counted in full.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Sum of all counters: the weight of all that was counted, if none saturated.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(u64::from).sum()
    }

    /// The total weight of the key with this hash.
    pub fn estimate_hash(&self, hash: u64) -> Estimate {
        let at = place(self.hash.word(hash), self.config.width as u32);
        self.bounded(self.counts.get(at))
    }

    /// Returns the estimate of one row of Count-Min: never too small, and its bound.
    fn bounded(&self, count: u32) -> Estimate {
        count_min(std::iter::once(count), self.added, self.config.width, 1)
    }

    /// Sets an entry to that of another table.
    pub(crate) fn set(&mut self, at: usize, key: K, count: u64) {
        let (kept, over) = add(0, count);
        self.keys[at] = key;
        self.counts.set(at, kept);
        self.saturated += over;
        self.added = self.added.saturating_add(count);
    }

    /// The kept keys and their counters, by place.
    fn kept(&self) -> impl Iterator<Item = (usize, (&K, u32))> {
        self.keys.iter().zip(self.counts.iter()).enumerate().filter(|(_, (_, count))| *count > 0)
    }
}

impl<K: Key> Summary for SimpleHashTable<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, PURPOSE)[0],
            counts: SplitCounters::new(config.width)?,
            keys: filled(config.width, K::default())?,
            parts: Box::default(),
            saturated: 0,
            added: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.counts.reset();
        self.parts = Box::default();
        (self.saturated, self.added) = (0, 0);
    }

    fn bytes(&self) -> usize {
        Self::Configuration::bytes(&self.config) + size_of_val(&self.parts[..])
    }
}

impl<K: Key> UpdateBurst<K> for SimpleHashTable<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        self.add(burst, Weights::from_burst(burst), |update| *update);
    }

    fn count_keys(&mut self, keys: &[K]) {
        let seed = self.config.seed;
        self.add(keys, Weights::ones(keys.len()), |key| Update::new(*key, 1, &seed));
    }
}

impl<K: Key> SimpleHashTable<K> {
    #[inline(always)]
    fn add<Packet>(&mut self, burst: &[Packet], weights: Weights, of: impl Fn(&Packet) -> Update<K>) {
        self.added = self.added.saturating_add(weights.sum);
        let Self { config, hash, counts, keys, saturated, added, .. } = self;
        let place = |update: Update<K>| place(hash.word(update.hash), config.width as u32);
        if *added >= u32::MAX.into() {
            counts.settle();
            count_into(counts.weighed().growing::<true>(saturated), keys, burst, of, place);
        } else if weights.are_ones
            && let Some(split) = counts.split()
        {
            count_into(split, keys, burst, of, place);
        } else {
            count_into(counts.weighed().growing::<false>(saturated), keys, burst, of, place);
        }
    }
}

#[inline(always)]
fn count_into<K: Key, Packet>(
    mut counters: impl CounterView,
    keys: &mut [K],
    burst: &[Packet],
    of: impl Fn(&Packet) -> Update<K>,
    place: impl Fn(Update<K>) -> usize,
) {
    let mut places = [0_u32; BURST];
    for burst in burst.chunks(BURST) {
        for (at, packet) in places.iter_mut().zip(burst) {
            *at = place(of(packet)) as u32;
            counters.prefetch(*at as usize);
        }
        for (&at, packet) in places.iter().zip(burst) {
            // The hash is not checked again.
            let (Update { key, weight, .. }, at) = (of(packet), at as usize);
            if counters.is_zero(at) {
                keys[at] = key;
            }
            counters.count(at, weight);
        }
    }
}

/// Counters are those of one pass over both streams. Of the parts that are merged, the one with the largest counter gives
/// the key, whatever their order: where each has flows of its own, that is most likely the heaviest flow's.
impl<K: Key> Merge for SimpleHashTable<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        let mut parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            parts = self.counts.iter().collect();
        }
        for (at, (key, count)) in other.kept() {
            let part = other.parts.get(at).copied().unwrap_or(count);
            if (part, Reverse(key)) > (parts[at], Reverse(&self.keys[at])) {
                (parts[at], self.keys[at]) = (part, *key);
            }
        }
        self.parts = parts;
        self.counts.settle();
        let mut counts = self.counts.weighed().growing::<true>(&mut self.saturated);
        for (at, (_, count)) in other.kept() {
            counts.count(at, count.into());
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
        let heavy = self.kept().filter(|(_, (_, count))| u64::from(*count) >= threshold);
        HeavyKeys::new(heavy.map(|(_, (key, count))| (*key, named(count))).collect(), false)
    }
}

/// The bounds of a key that an entry names.
fn named(count: u32) -> Estimate {
    let value = f64::from(count);
    Estimate::bounded(value, 1.0, if count == u32::MAX { f64::INFINITY } else { value }, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, OracleStream};
    use super::*;
    use packet::{KeyV4, Seed};
    use std::collections::HashMap;

    type Table = SimpleHashTable<KeyV4>;

    /// Also where counters are split, by packets or by weights alone, and by both.
    #[test]
    fn every_counter_is_the_sum_of_its_flows_and_keeps_the_first_of_them() {
        for number in 0..24 {
            let width = if number < 18 { 700 } else { 140_000 };
            let mut stream = OracleStream::zipf(20_000, 5_000, number);
            let weigh = |update: &mut Update<_>| update.weight = 1 + number * (update.hash & 1);
            match number % 3 {
                0 => {}
                1 => stream.updates.iter_mut().for_each(weigh),
                _ => stream.updates[3_000..7_000].iter_mut().for_each(weigh),
            }
            let config = GridConfig::with_width(width, Seed::new(number));
            let table: Table = oracle::summary_of(&config, &stream.updates);
            let (mut sums, mut firsts) = (HashMap::new(), HashMap::new());
            let place_of = |hash| place(table.hash.word(hash), width as u32);
            for update in &stream.updates {
                let at = place_of(update.hash);
                *sums.entry(at).or_insert(0_u64) += update.weight;
                firsts.entry(at).or_insert(update.key);
            }
            let list = table.heavy_hitters(1).keys;
            assert_eq!(list.len(), firsts.len());
            assert_eq!(table.total(), sums.values().sum::<u64>());
            for (key, estimate) in list {
                let at = place_of(key.hash(&config.seed));
                assert_eq!((firsts[&at], sums[&at] as f64), (key, estimate.value));
            }
            for key in stream.counts.keys() {
                let at = place_of(key.hash(&config.seed));
                assert_eq!(table.estimate(key).value, sums[&at] as f64);
            }
        }
    }

    #[test]
    fn the_bound_of_one_row_holds_as_often_as_promised() {
        let mut promise = oracle::BoundTally::default();
        for number in 0..400 {
            let stream = OracleStream::zipf(2_000, 500, number);
            let config = GridConfig::with_width(60, Seed::new(number));
            let table: Table = oracle::summary_of(&config, &stream.updates);
            let key = stream.updates[number as usize].key;
            let estimate = table.estimate(&key);
            let bounds = estimate.bounds.expect("a bound");
            assert!(bounds.upper - bounds.lower < 100.0 && bounds.confidence > 0.6, "{estimate:?}");
            promise.count(estimate, stream.counts[&key] as f64);
        }
        promise.must_hold();
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (stream, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::bytes(5_000, 900, 2));
        let answers = |table: &Table| oracle::all_answers(table, &stream);
        // Which key a counter has depends on the parts.
        let counters = |table: &Table| table.counts.iter().collect::<Vec<_>>();
        for width in [500, 140_000] {
            let config = GridConfig::with_width(width, Seed::new(1));
            oracle::merge_equals_one_pass(&config, &stream.updates, counters);
            oracle::check_keys_count_as_packets(&config, &stream, answers);
            oracle::reset_equals_new(&config, &stream.updates, &second.updates, answers);
        }
        let config = GridConfig::with_width(500, Seed::new(1));
        oracle::do_not_merge::<Table>(&config, &GridConfig::with_width(501, config.seed));
        oracle::do_not_merge::<Table>(&config, &GridConfig::with_width(500, Seed::new(2)));
        oracle::check_sizes::<Table>();
        assert!(Table::new(&GridConfig::with_width(0, config.seed)).is_err());
    }

    /// Of a mouse that came first and an elephant, whichever of four parts has the elephant and in whichever order they are merged.
    #[test]
    fn the_key_of_the_largest_part_stays() {
        let config = GridConfig::with_width(1, Seed::new(1));
        let update = |flow: u8, weight| Update::new(KeyV4::new([flow; 8], [0; 4], 6), weight, &config.seed);
        let parts = [(1, 40), (2, 100), (3, 40), (4, 40)];
        for first in 0..4 {
            for paired in [false, true] {
                let mut tables = (0..4).map(|at| {
                    let (flow, weight) = parts[(first + at) % 4];
                    oracle::summary_of::<Table, _>(&config, &[update(flow, weight)])
                });
                let mut take = || tables.next().expect("four");
                let (mut merged, second, mut third, fourth) = (take(), take(), take(), take());
                merged.merge(&second).expect("equal configurations");
                if paired {
                    third.merge(&fourth).expect("equal configurations");
                    merged.merge(&third).expect("equal configurations");
                } else {
                    merged.merge(&third).expect("equal configurations");
                    merged.merge(&fourth).expect("equal configurations");
                }
                // Some of it is the key's, and no more than all.
                let named = vec![(update(2, 1).key, Estimate::bounded(220.0, 1.0, 220.0, 1.0))];
                assert_eq!(merged.heavy_hitters(1).keys, named, "{first} {paired}");
                assert_eq!(merged.bytes(), config.bytes() + size_of::<u32>());
                merged.reset();
                assert_eq!(merged.bytes(), config.bytes());
                assert!(merged.heavy_hitters(1).keys.is_empty() && merged.parts.is_empty());
            }
        }
    }

    #[test]
    fn split_counters_stop_at_their_end_too() {
        let config = GridConfig::with_width(140_000, Seed::new(1));
        let update = |weight| Update::new(KeyV4::default(), weight, &config.seed);
        let mut table: Table = oracle::summary_of(&config, &vec![update(1); 300]);
        let other = table.clone();
        table.update_burst(&[update(u64::from(u32::MAX) - 300)]);
        assert_eq!((table.saturated(), table.estimate(&KeyV4::default()).value), (0, f64::from(u32::MAX)));
        table.update_burst(&[update(1)]);
        assert_eq!(table.saturated(), 1);
        table.merge(&other).expect("equal configurations");
        assert_eq!((table.saturated(), table.total()), (2, u64::from(u32::MAX)));
    }

    #[test]
    fn flows_made_against_one_seed_do_not_meet_under_another() {
        let [known, secret] = [1, 2].map(|number| GridConfig::with_width(64, Seed::new(number)));
        let key = |flow: u32| KeyV4::new([1; 8], flow.to_be_bytes(), 6);
        let estimate = |config: &GridConfig<_>, flows: &[u32]| {
            let updates: Vec<_> = flows.iter().map(|flow| Update::new(key(*flow), 1, &config.seed)).collect();
            let table: Table = oracle::summary_of(config, &updates);
            table.estimate(&key(0)).value
        };
        let chosen: Vec<u32> = (1..20_000).filter(|flow| estimate(&known, &[*flow]) > 0.0).collect();
        assert!(chosen.len() > 200);
        assert_eq!(estimate(&known, &chosen), chosen.len() as f64);
        assert!(estimate(&secret, &chosen) < chosen.len() as f64 / 20.0);
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
