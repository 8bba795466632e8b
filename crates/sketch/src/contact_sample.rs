//! Distinct sampling (Gibbons, VLDB 2001) of pairs: how many different peers each key has.

use super::confidence::CONFIDENCE;
use super::grid::{Grid, GridConfig};
use super::memory::{filled, prefetch};
use super::row_hash::place;
use super::summary::BURST;
use super::{
    Configuration, Contact, ContactBurst, Estimate, HeavyKeys, Merge, SketchError, Spreaders, Summary,
    Unmergeable, chernoff,
};
use arena::Lease;
use packet::Key;

/// A slot without a pair.
const NONE: u64 = 0;

/// Distinct pairs of a key and a peer, all of them or one in 2ˡ for the level l: those whose hash begins with
/// l zeros. So a pair counts once however often it occurs, and the pairs of each key are a separate uniform
/// sample (the one-level filtering of Venkataraman, Song, Gibbons, Blum, NDSS 2005).
///
/// The level rises by one, and half of the pairs leave, where one comes that finds no room; which level that ends at
/// follows from the set of all pairs, in whatever order they come. At level 0 answers are exact, but for pairs that
/// share all 64 bits of their hash (of n pairs any two do with a probability of n² / 2⁶⁵: 3·10⁻⁸ for a million). Above it a
/// key's estimate is its pairs in the sample times 2ˡ, unbiased for a level; bounds are Chernoff's with 95 % (of a list of spreaders, for all
/// of them at once: the sample chooses whom it names), whose room (a normal tail would
/// leave 0.7 % outside) covers that the pairs themselves choose between neighbouring levels.
///
/// A rise examines all pairs once: some 5 ns for each, a few times in a window.
#[derive(Clone, Debug)]
pub struct ContactSample<K: Key> {
    config: GridConfig<Self>,
    level: u32,
    /// Pairs in the sample.
    used: usize,
    /// Hashes of the pairs: linear probing from a place by the low bits, which are independent of the level; at most 7/8 full.
    pairs: Box<[u64]>,
    /// The key of the pair in each slot. Stored separately, because a packet whose pair is known does not
    /// need it.
    keys: Box<[K]>,
}

/// Slots for this many pairs.
fn slots(capacity: usize) -> usize {
    capacity + capacity.div_ceil(7)
}

impl<K: Key> Grid for ContactSample<K> {
    const KIND: &'static str = "contact sample";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "capacity";
    /// The places that 32 bits can address.
    const WIDTH: std::ops::RangeInclusive<usize> = 1..=1 << 31;

    fn bytes(_: usize, capacity: usize) -> usize {
        slots(capacity) * (size_of::<u64>() + size_of::<K>())
    }
}

impl<K: Key> ContactSample<K> {
    /// Pairs are kept whose hash begins with this many zeros: one in 2ˡ.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Distinct pairs that are kept.
    pub fn pairs(&self) -> usize {
        self.used
    }

    /// True if a pair belongs to the sample.
    #[inline(always)]
    fn is_taken(&self, pair: u64) -> bool {
        pair.leading_zeros() >= self.level
    }

    #[inline(always)]
    fn home(&self, pair: u64) -> usize {
        place(pair as u32, self.pairs.len() as u32)
    }

    /// The slot of the pair, or else the free slot for it.
    #[inline(always)]
    fn slot(&self, pair: u64) -> usize {
        let mut at = self.home(pair);
        while self.pairs[at] != NONE && self.pairs[at] != pair {
            at = if at + 1 == self.pairs.len() { 0 } else { at + 1 };
        }
        at
    }

    /// Adds a pair of this level.
    #[inline(always)]
    fn add(&mut self, pair: u64, key: &K) {
        let slot = self.slot(pair);
        if self.pairs[slot] == NONE {
            self.add_new(pair, key, slot);
        }
    }

    fn add_new(&mut self, pair: u64, key: &K, mut slot: usize) {
        if self.used == self.config.width {
            while self.used == self.config.width && self.is_taken(pair) {
                self.rise_to(self.level + 1);
            }
            if !self.is_taken(pair) {
                return;
            }
            slot = self.slot(pair);
        }
        (self.pairs[slot], self.keys[slot]) = (pair, *key);
        self.used += 1;
    }

    /// Grows the sample, where that is necessary, so that it has room for `more` pairs in addition to those that it keeps. `memory`
    /// holds what it takes then. False where there is none, or where pairs have left already: answers have bounds then.
    pub fn make_room(&mut self, more: usize, memory: &mut Lease) -> bool {
        let needed = self.used.saturating_add(more);
        if needed <= self.config.width {
            return true;
        }
        let width = needed.checked_next_power_of_two().unwrap_or(usize::MAX);
        if self.level > 0 || !Self::WIDTH.contains(&width) {
            return false;
        }
        if !memory.grow(<Self as Grid>::bytes(1, width).saturating_sub(memory.bytes())) {
            return false;
        }
        let config = GridConfig::with_width(width, self.config.seed);
        let Ok(mut larger) = Self::new(&config) else { return false };
        self.kept().for_each(|(pair, key)| larger.add(pair, key));
        *self = larger;
        true
    }

    /// Lets all pairs go that do not belong to a level, and brings those that stay nearer to their homes.
    #[cold]
    fn rise_to(&mut self, level: u32) {
        self.level = level;
        let slots = self.pairs.len();
        // Starting at a free slot, a pair's new slot lies between its home and its old one.
        let free = self.pairs.iter().position(|pair| *pair == NONE).unwrap_or(0);
        for at in (free..slots).chain(0..free) {
            let pair = std::mem::replace(&mut self.pairs[at], NONE);
            if pair == NONE {
                continue;
            }
            if self.is_taken(pair) {
                let slot = self.slot(pair);
                (self.pairs[slot], self.keys[slot]) = (pair, self.keys[at]);
            } else {
                self.used -= 1;
            }
        }
    }

    /// All pairs that are kept, with their keys.
    fn kept(&self) -> impl Iterator<Item = (u64, &K)> {
        self.pairs.iter().copied().zip(&self.keys).filter(|(pair, _)| *pair != NONE)
    }

    /// Returns the estimate by this many pairs of a key. `mean` gives the bounds of a mean.
    fn estimate_count(&self, count: usize, mean: impl Fn(f64) -> (f64, f64)) -> Estimate {
        let count = count as f64;
        if self.level == 0 {
            return Estimate::exact(count);
        }
        let scale = f64::from(self.level).exp2();
        let (lower, upper) = mean(count);
        Estimate::bounded(count * scale, (lower * scale).max(count), upper * scale, CONFIDENCE)
    }
}

impl<K: Key> Summary for ContactSample<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let slots = slots(config.width);
        let (pairs, keys) = (filled(slots, NONE)?, filled(slots, K::default())?);
        Ok(Self { config: config.clone(), level: 0, used: 0, pairs, keys })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.pairs.fill(NONE);
        (self.level, self.used) = (0, 0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: Key> ContactBurst<K> for ContactSample<K> {
    fn contact_burst(&mut self, burst: &[Contact<K>]) {
        for burst in burst.chunks(BURST) {
            let taken = |contact: &&Contact<K>| self.is_taken(contact.pair);
            burst.iter().filter(taken).for_each(|contact| prefetch(&self.pairs, self.home(contact.pair)));
            for Contact { key, pair } in burst {
                // One pair in 2⁶⁴ has the mark of a free slot as its hash.
                let pair = if *pair == NONE { 1 } else { *pair };
                if self.is_taken(pair) {
                    self.add(pair, key);
                }
            }
        }
    }
}

/// Merging gives the sample of one pass over both streams.
impl<K: Key> Merge for ContactSample<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        if other.level > self.level {
            self.rise_to(other.level);
        }
        for (pair, key) in other.kept() {
            if self.is_taken(pair) {
                self.add(pair, key);
            }
        }
        Ok(())
    }
}

impl<K: Key> Spreaders<K> for ContactSample<K> {
    fn contacts(&self, key: &K) -> Estimate {
        let count = self.kept().filter(|(_, kept)| *kept == key).count();
        self.estimate_count(count, |count| chernoff::mean_of(count, CONFIDENCE))
    }

    fn spreaders(&self, threshold: u64) -> HeavyKeys<K> {
        let mut keys: Vec<K> = self.kept().map(|(_, key)| *key).collect();
        keys.sort_unstable();
        // Without bounds: for keys with few pairs, whose bounds are never queried, they would be most of the
        // work.
        let scale = f64::from(self.level).exp2();
        let heavy = keys.chunk_by(|a, b| a == b).filter(|same| same.len() as f64 * scale >= threshold as f64);
        // All of these hold at once: the sample itself chooses whom it names. Of the chance to fail a fifth goes to the number of pairs.
        let failing = 1.0 - CONFIDENCE;
        let (_, total) = chernoff::mean_of(self.used as f64, 1.0 - failing / 5.0);
        let named = |count| chernoff::mean_of_any(count, total, 1.0 - failing * 0.8);
        HeavyKeys::new(heavy.map(|same| (same[0], self.estimate_count(same.len(), named))).collect(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::contact_oracle::{self, ContactStream};
    use super::super::oracle::{self, BoundTally};
    use super::*;
    use packet::{KeyV4, KeyV6, Seed};
    use std::collections::{BTreeMap, HashSet};

    type Sample = ContactSample<KeyV4>;

    fn config(capacity: usize, number: u64) -> GridConfig<Sample> {
        GridConfig::with_width(capacity, Seed::new(number))
    }

    #[test]
    fn bounds_hold_for_the_spreaders_that_an_answer_names() {
        // Many sources with few destinations each, among which chance chooses.
        let mut promise = BoundTally::default();
        for number in 0..200 {
            let seed = Seed::new(number);
            let key = |source: u16, other: u16| {
                let ([a, b], [c, d]) = (source.to_be_bytes(), other.to_be_bytes());
                KeyV4::new([10, 0, a, b, 10, 1, c, d], [0; 4], 0)
            };
            let contacts: Vec<_> = (0..3_000_u16)
                .flat_map(|source| (0..4 + source % 3).map(move |other| (source, other)))
                .map(|(source, other)| Contact::new(key(source, u16::MAX), key(source, other), &seed))
                .collect();
            let sample: Sample = contact_oracle::contacts_of(&config(500, number), &contacts);
            assert!(sample.level() > 3);
            for (found, estimate) in sample.spreaders(90).keys {
                let [.., a, b] = found.to_bytes()[..4] else { unreachable!("four bytes") };
                promise.count(estimate, f64::from(4 + u16::from_be_bytes([a, b]) % 3));
            }
        }
        promise.must_hold();
    }

    #[test]
    fn room_is_made_as_pairs_come() {
        let stream = ContactStream::zipf(5_000, 1_000, &[700, 300], 1);
        let limits = arena::Limits::new(1 << 20, usize::MAX);
        let mut memory = limits.empty_lease();
        let mut sample = Sample::new(&config(4, 1)).expect("memory");
        for burst in stream.contacts.chunks(50) {
            assert!(sample.make_room(burst.len(), &mut memory));
            sample.contact_burst(burst);
        }
        assert_eq!((sample.level(), sample.pairs() as u64), (0, stream.counts.values().sum::<u64>()));
        assert!(sample.bytes() <= memory.bytes());
        let found: BTreeMap<_, _> =
            sample.spreaders(1).keys.into_iter().map(|(key, e)| (key, e.value as u64)).collect();
        assert_eq!(found, stream.counts.iter().map(|(key, count)| (*key, *count)).collect());
    }

    #[test]
    fn with_room_all_answers_are_exact() {
        let stream = ContactStream::zipf(5_000, 1_000, &[700, 300], 1);
        let pairs = stream.counts.values().sum::<u64>() as usize;
        let sample: Sample = contact_oracle::contacts_of(&config(pairs, 1), &stream.contacts);
        assert_eq!((sample.level(), sample.pairs()), (0, pairs));
        let exact = |count: &u64| Estimate::exact(*count as f64);
        let listed: BTreeMap<_, _> =
            sample.spreaders(2).keys.into_iter().map(|(key, e)| (key, e.value as u64)).collect();
        let truth = stream.counts.iter().filter(|(_, count)| **count >= 2);
        assert_eq!(listed, truth.map(|(key, count)| (*key, *count)).collect());
        assert!(stream.counts.iter().all(|(key, count)| sample.contacts(key) == exact(count)));
        assert_eq!(sample.contacts(&ContactStream::spreader(9)), exact(&0));
        // With one more pair, half of them are dropped.
        let sample: Sample = contact_oracle::contacts_of(&config(pairs - 1, 1), &stream.contacts);
        assert_eq!(sample.level(), 1);
    }

    /// The definition, by a set: the least level at which all its pairs have room.
    #[test]
    fn the_sample_is_that_of_the_definition_in_whatever_order() {
        for (number, capacity) in [(1, 1), (2, 10), (3, 800), (4, 2_000)] {
            let mut stream = ContactStream::zipf(5_000, 1_000, &[700, 300], number);
            let all: HashSet<(u64, KeyV4)> = stream.contacts.iter().map(|c| (c.pair, c.key)).collect();
            let of = |level: u32| all.iter().copied().filter(move |(pair, _)| pair.leading_zeros() >= level);
            let level = (0..).find(|level| of(*level).count() <= capacity).expect("a level");
            for _ in 0..2 {
                let sample: Sample = contact_oracle::contacts_of(&config(capacity, number), &stream.contacts);
                assert_eq!(sample.level(), level);
                let kept: HashSet<_> = sample.kept().map(|(pair, key)| (pair, *key)).collect();
                assert_eq!((kept, sample.pairs()), (of(level).collect(), of(level).count()));
                stream.contacts.sort_by_key(|contact| contact.pair.reverse_bits());
            }
        }
    }

    #[test]
    fn estimates_are_unbiased_and_bounds_hold() {
        const SEEDS: u64 = 100;
        let sizes = [4_000, 300, 1_000, 50];
        let (mut promise, mut sums) = (BoundTally::default(), [0.0; 4]);
        for number in 0..SEEDS {
            let stream = ContactStream::zipf(2_000, 500, &sizes, number);
            let sample: Sample = contact_oracle::contacts_of(&config(700, number), &stream.contacts);
            assert!(sample.level() > 0);
            for (i, sum) in (0..).zip(&mut sums) {
                let estimate = sample.contacts(&ContactStream::spreader(i));
                promise.count(estimate, sizes[usize::from(i)].into());
                *sum += estimate.value / SEEDS as f64;
            }
        }
        promise.must_hold();
        for (mean, size) in sums.iter().zip(sizes) {
            // One in 8 or 16: a variance of 15 n at most.
            let off = (15.0 * f64::from(size) / SEEDS as f64).sqrt();
            assert!((mean - f64::from(size)).abs() < 5.0 * off, "{mean} for {size}, deviation {off}");
        }
    }

    #[test]
    fn merges_resets_and_sizes() {
        let stream = ContactStream::zipf(9_000, 3_000, &[700, 300], 1);
        for capacity in [300, 10_000] {
            let answers = |sample: &Sample| (sample.level(), sample.pairs());
            contact_oracle::contacts_merge_and_reset(&config(capacity, 1), &stream, answers);
        }
        oracle::do_not_merge::<Sample>(&config(500, 1), &config(501, 1));
        oracle::do_not_merge::<Sample>(&config(500, 1), &config(500, 2));
        oracle::check_sizes::<Sample>();
        oracle::check_sizes::<ContactSample<KeyV6>>();
        for capacity in [0, usize::MAX] {
            assert!(Sample::new(&config(capacity, 1)).is_err());
        }
    }

    #[test]
    fn pairs_at_the_ends_of_the_range_and_keys_of_ipv6_are_kept() {
        let config = GridConfig::<ContactSample<KeyV6>>::with_width(3, Seed::new(1));
        let key = KeyV6::from_bytes([7; 40]);
        let contact = |pair| Contact { key, pair };
        let sample: ContactSample<KeyV6> =
            contact_oracle::contacts_of(&config, &[0, u64::MAX, 5, 0, u64::MAX].map(contact));
        assert_eq!((sample.pairs(), sample.contacts(&key)), (3, Estimate::exact(3.0)));
        // Pairs with the fewest zeros are dropped first; the last level keeps one pair of all.
        let mut sample = sample;
        sample.contact_burst(&[contact(4)]);
        assert_eq!((sample.level(), sample.pairs()), (1, 3));
        sample.contact_burst(&[1_u64, 2, 3, 1 << 62].map(contact));
        assert_eq!((sample.level(), sample.pairs()), (62, 3));
    }

    /// Pairs chosen with knowledge of another seed fill the sample for that seed only.
    #[test]
    fn a_stream_made_against_one_seed_does_not_hurt_another() {
        let (known, secret) = (Seed::new(1), Seed::new(2));
        let source = |i: u32| KeyV4::new((u64::from(i) << 8).to_be_bytes(), [0; 4], 0);
        let both =
            |i: u32, other: u32| KeyV4::new((u64::from(i) << 40 | u64::from(other)).to_be_bytes(), [0; 4], 0);
        // Of one source those destinations that are taken up to level 6 by the known seed.
        let chosen = (0..).filter(|other| both(1, *other).hash(&known).leading_zeros() >= 6).take(2_000);
        let chosen: Vec<u32> = chosen.collect();
        let of = |seed: Seed| -> Sample {
            let contacts: Vec<_> =
                chosen.iter().map(|other| Contact::new(source(1), both(1, *other), &seed)).collect();
            contact_oracle::contacts_of(&GridConfig::with_width(500, seed), &contacts)
        };
        assert!(of(known).contacts(&source(1)).value > 2_000.0 * 32.0);
        let estimate = of(secret).contacts(&source(1));
        assert!(estimate.bounds.expect("bounds").contain(2_000.0), "{estimate:?}");
    }
}
