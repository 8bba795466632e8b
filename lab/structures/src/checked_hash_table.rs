//! The Simple Hash Table with the key checked: a counter for the first flow of an entry, another for all others.

use packet::Key;
use sketch::parts::{BURST, RowHash, add, filled, grow, place, prefetch};
use sketch::{
    Configuration, Estimate, Frequency, Grid, GridConfig, HeavyHitters, HeavyKeys, Merge, SketchError,
    Summary, Unmergeable, Update, UpdateBurst,
};

/// The purpose of its hash function: that of `SimpleHashTable`, so that a flow has the same entry in both.
const PURPOSE: u64 = 0x5117;

/// A row of entries, each for the first flow that hit it, which is counted exactly; the sum of the entry's
/// other flows bounds each of them from above. Bounds are certain: they follow from counting alone.
///
/// Merging keeps the larger of two flows in an entry, whose count is then bounded instead of exact.
#[derive(Clone, Debug)]
pub struct CheckedHashTable<K> {
    config: GridConfig<Self>,
    hash: RowHash,
    entries: Box<[KeyCheckedEntry<K>]>,
    saturated: u64,
}

/// Half a cache line for an IPv4 key.
#[derive(Clone, Copy, Debug, Default)]
struct KeyCheckedEntry<K> {
    key: K,
    /// The count of the key.
    count: u32,
    /// The count of all other keys.
    others: u32,
    /// Part of `others` that may have been the key's: only one of two merged tables kept it.
    missed: u32,
}

impl<K: Key> KeyCheckedEntry<K> {
    /// Returns true if nothing was counted in the entry.
    fn is_free(&self) -> bool {
        self.count | self.others == 0
    }

    fn kept(&self) -> Estimate {
        let upper = bound(self.count) + if self.missed == 0 { 0.0 } else { bound(self.missed) };
        Estimate::bounded(self.count.into(), self.count.into(), upper, 1.0)
    }
}

/// The value of a counter, or no bound if it is saturated.
fn bound(count: u32) -> f64 {
    if count == u32::MAX { f64::INFINITY } else { count.into() }
}

impl<K> Grid for CheckedHashTable<K> {
    const KIND: &'static str = "Simple Hash Table with checked keys";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;

    fn bytes(_: usize, width: usize) -> usize {
        width * size_of::<KeyCheckedEntry<K>>()
    }
}

impl<K: Key> CheckedHashTable<K> {
    /// Updates of a saturated counter that could not be counted in full.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// The weight of flows that have no entry, in the unit of the weights.
    pub fn not_kept(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.others)).sum()
    }
}

impl<K: Key> Summary for CheckedHashTable<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, PURPOSE)[0],
            entries: filled(config.width, KeyCheckedEntry::default())?,
            saturated: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.entries.fill(KeyCheckedEntry::default());
        self.saturated = 0;
    }

    fn bytes(&self) -> usize {
        Self::Configuration::bytes(&self.config)
    }
}

impl<K: Key> UpdateBurst<K> for CheckedHashTable<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        self.add(burst, |update| *update);
    }

    fn count_keys(&mut self, keys: &[K]) {
        let seed = self.config.seed;
        self.add(keys, |key| Update::new(*key, 1, &seed));
    }
}

impl<K: Key> CheckedHashTable<K> {
    #[inline(always)]
    fn add<Packet>(&mut self, burst: &[Packet], of: impl Fn(&Packet) -> Update<K>) {
        let width = self.config.width as u32;
        let mut places = [0_u32; BURST];
        for burst in burst.chunks(BURST) {
            for (at, packet) in places.iter_mut().zip(burst) {
                *at = place(self.hash.word(of(packet).hash), width) as u32;
                prefetch(&self.entries, *at as usize);
            }
            for (&at, packet) in places.iter().zip(burst) {
                // The hash is not checked again.
                let Update { key, weight, .. } = of(packet);
                let entry = &mut self.entries[at as usize];
                if entry.is_free() {
                    entry.key = key;
                }
                let is_kept = entry.key == key;
                let counter = if is_kept { &mut entry.count } else { &mut entry.others };
                grow::<true>(counter, weight, &mut self.saturated);
            }
        }
    }
}

impl<K: Key> Merge for CheckedHashTable<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.saturated += other.saturated;
        for (ours, theirs) in self.entries.iter_mut().zip(&other.entries) {
            if theirs.is_free() {
                continue;
            }
            if ours.is_free() {
                *ours = *theirs;
                continue;
            }
            let mut over = 0;
            let mut sum = |a: u32, b: u32| {
                let (sum, full) = add(a, b.into());
                over += full;
                sum
            };
            if ours.key == theirs.key {
                ours.count = sum(ours.count, theirs.count);
                ours.missed = sum(ours.missed, theirs.missed);
                ours.others = sum(ours.others, theirs.others);
            } else {
                let (kept, gone) =
                    if theirs.count > ours.count { (*theirs, *ours) } else { (*ours, *theirs) };
                let others = sum(kept.others, gone.others);
                let others = sum(others, gone.count);
                *ours = KeyCheckedEntry { others, missed: sum(kept.missed, gone.others), ..kept };
            }
            self.saturated += over;
        }
        Ok(())
    }
}

impl<K: Key> Frequency<K> for CheckedHashTable<K> {
    /// Returns the count of a flow that has an entry. For a flow without one, the sum of its entry's other flows is the upper bound and the
    /// estimate, as in Count-Min.
    fn estimate(&self, key: &K) -> Estimate {
        let entry =
            &self.entries[place(self.hash.word(key.hash(&self.config.seed)), self.config.width as u32)];
        if !entry.is_free() && entry.key == *key {
            return entry.kept();
        }
        Estimate::bounded(entry.others.into(), 0.0, bound(entry.others), 1.0)
    }
}

impl<K: Key> HeavyHitters<K> for CheckedHashTable<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let heavy =
            self.entries.iter().filter(|entry| !entry.is_free() && u64::from(entry.count) >= threshold);
        HeavyKeys::new(heavy.map(|entry| (entry.key, entry.kept())).collect(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{self, BoundTally, OracleStream};
    use packet::{KeyV4, Seed};

    type Table = CheckedHashTable<KeyV4>;

    fn config(width: usize, number: u64) -> GridConfig<Table> {
        GridConfig::with_width(width, Seed::new(number))
    }

    #[test]
    fn kept_flows_are_exact_and_all_others_bounded() {
        for number in 0..20 {
            let stream = OracleStream::bytes(20_000, 5_000, number);
            let table: Table = oracle::summary_of(&config(700, number), &stream.updates);
            let mut counted = table.not_kept();
            for (key, estimate) in table.heavy_hitters(1).keys {
                assert_eq!(estimate, Estimate::exact(stream.counts[&key] as f64));
                counted += stream.counts[&key];
            }
            assert_eq!(counted, stream.total);
            let mut promise = BoundTally::default();
            let strangers = stream.strangers().map(|key| (key, 0));
            for (key, count) in stream.counts.iter().map(|(key, count)| (*key, *count)).chain(strangers) {
                promise.count(table.estimate(&key), count as f64);
            }
            promise.must_hold();
        }
    }

    #[test]
    fn merged_tables_keep_their_bounds_also_while_counting_goes_on() {
        for number in 0..20 {
            let stream = OracleStream::zipf(30_000, 5_000, number);
            let config = config(900, number);
            let (first, rest) = stream.updates.split_at(9_000);
            let (second, third) = rest.split_at(9_000);
            let mut merged: Table = oracle::summary_of(&config, first);
            let mut other: Table = oracle::summary_of(&config, second);
            other.merge(&oracle::summary_of(&config, &third[..6_000])).expect("equal configurations");
            merged.merge(&other).expect("equal configurations");
            merged.update_burst(&third[6_000..]);
            let mut promise = BoundTally::default();
            for (key, count) in &stream.counts {
                promise.count(merged.estimate(key), *count as f64);
            }
            promise.must_hold();
            assert!(merged.heavy_hitters(1).keys.len() > 800, "most entries keep a flow");
        }
    }

    #[test]
    fn resets_sizes_and_refusals() {
        let (stream, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::bytes(5_000, 900, 2));
        let answers = |table: &Table| oracle::all_answers(table, &stream);
        oracle::check_keys_count_as_packets(&config(500, 1), &stream, answers);
        oracle::reset_equals_new(&config(500, 1), &stream.updates, &second.updates, answers);
        oracle::do_not_merge::<Table>(&config(500, 1), &config(501, 1));
        oracle::check_sizes::<Table>();
        assert!(Table::new(&config(0, 1)).is_err());
    }

    #[test]
    fn a_counter_at_its_end_bounds_nothing() {
        let config = config(1, 1);
        let [a, b] = [6, 17].map(|protocol| KeyV4::new([1; 8], [2; 4], protocol));
        let update = |key, weight| Update::new(key, weight, &config.seed);
        let table: Table =
            oracle::summary_of(&config, &[update(a, u64::MAX), update(b, 1 << 32), update(b, 1)]);
        assert_eq!(table.saturated(), 3);
        for key in [a, b] {
            assert_eq!(table.estimate(&key).bounds.expect("bounds").upper, f64::INFINITY);
        }
    }
}
