//! The traits: what every structure does, and the queries that some answer.

use super::{Estimate, SketchError, Unmergeable};
use packet::{Key, Seed};
use std::fmt;

/// Updates whose memory is on its way at a time.
pub(crate) const BURST: usize = 64;

/// A packet as summaries take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Update<K> {
    /// Its flow key.
    pub key: K,
    /// The key's hash by the seed of the summary's configuration.
    pub hash: u64,
    /// 1 where packets are counted, else its bytes.
    pub weight: u64,
}

impl<K: Key> Update<K> {
    /// With the key's hash by `seed`.
    #[inline(always)]
    pub fn new(key: K, weight: u64, seed: &Seed) -> Self {
        Self { key, hash: key.hash(seed), weight }
    }
}

/// A packet as summaries take it that count with how many different others a key has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contact<K> {
    /// Whose others are counted, as a source address.
    pub key: K,
    /// A secret hash of the key and the other together: equal where both are.
    pub pair: u64,
}

impl<K: Key> Contact<K> {
    /// Of a key and of what has `both` the key and the other (for sources of many destinations, both addresses), by the seed of
    /// the summary's configuration.
    #[inline(always)]
    pub fn new(key: K, both: K, seed: &Seed) -> Self {
        Self { key, pair: both.hash(seed) }
    }
}

/// What a structure is made from. Two structures merge only if their configurations are equal, seed included. Its text
/// form names the kind and all sizes, but never the seed.
pub trait Configuration: Clone + PartialEq + fmt::Display {
    /// The largest structure that takes no more than `bytes`, with the other parameters at their defaults.
    ///
    /// # Errors
    /// Memory below the least, with the least.
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError>;

    /// Memory that the structure's arrays will take.
    fn bytes(&self) -> usize;

    /// The seed by which keys must be hashed.
    fn seed(&self) -> &Seed;
}

/// A structure that a stream is summarised into.
pub trait Summary: Sized {
    /// What it is made from.
    type Configuration: Configuration;

    /// An empty one. All its memory is taken here.
    ///
    /// # Errors
    /// A size of zero or too large, or memory that the machine does not have.
    fn new(configuration: &Self::Configuration) -> Result<Self, SketchError>;

    /// What it was made from.
    fn configuration(&self) -> &Self::Configuration;

    /// Forgets all that it saw and keeps its memory: the same as a new one.
    fn reset(&mut self);

    /// Memory of its arrays and tables.
    fn bytes(&self) -> usize;
}

/// Taking packets. Apart from [`Summary`], because what needs only the hash takes keys of any kind.
pub trait UpdateBurst<K>: Summary {
    /// Counts a burst: no allocation, no lock, no clock.
    fn update_burst(&mut self, burst: &[Update<K>]);

    /// Counts a packet of each of these keys, which it hashes by its own seed: for those who have not hashed them already. Arrays that
    /// no cache holds hash while they wait for memory.
    fn count_keys(&mut self, keys: &[K])
    where
        K: Key,
    {
        let mut updates = [Update::default(); BURST];
        for keys in keys.chunks(BURST) {
            let updates = &mut updates[..keys.len()];
            for (update, key) in updates.iter_mut().zip(keys) {
                *update = Update::new(*key, 1, self.configuration().seed());
            }
            self.update_burst(updates);
        }
    }
}

/// Taking contacts.
pub trait ContactBurst<K>: Summary {
    /// Counts a burst: no lock, no clock, no allocation.
    fn contact_burst(&mut self, burst: &[Contact<K>]);
}

/// Two summaries of two streams become one of both. What loses its bound by that does not implement it.
pub trait Merge: Summary {
    /// Takes what `other` counted into `self`.
    ///
    /// # Errors
    /// Where the configurations differ, with both; nothing was changed then.
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable>;
}

/// "How much did this flow have?"
pub trait Frequency<K>: Summary {
    /// The total weight of `key`.
    fn estimate(&self, key: &K) -> Estimate;
}

/// "Which flows had much?"
pub trait HeavyHitters<K>: Summary {
    /// The flows that had `threshold` or more by their estimate, the largest first.
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K>;
}

/// The answer of [`HeavyHitters`].
#[derive(Clone, Debug, PartialEq)]
pub struct HeavyKeys<K> {
    /// Keys with their estimates, the largest first; of differences, the largest either way.
    pub keys: Vec<(K, Estimate)>,
    /// True where there may be more: the search ended at its own bound, or too few flows are kept next to the
    /// structure.
    pub is_cut_short: bool,
}

impl<K: Ord + Copy> HeavyKeys<K> {
    /// All that was found, in any order.
    pub fn new(mut keys: Vec<(K, Estimate)>, is_cut_short: bool) -> Self {
        // Equal ones by key, so that the same summary always gives the same list.
        let order = |a: &Estimate, b: &Estimate| b.value.abs().total_cmp(&a.value.abs());
        keys.sort_by(|(a, left), (b, right)| order(left, right).then_with(|| a.cmp(b)));
        Self { keys, is_cut_short }
    }
}

/// "How many different flows were there?"
pub trait Cardinality: Summary {
    /// The number of different keys.
    fn distinct(&self) -> Estimate;
}

/// "With how many different others did each key have to do?" (super-spreaders: scans, floods, worms)
pub trait Spreaders<K>: Summary {
    /// The number of different others of `key`.
    fn contacts(&self, key: &K) -> Estimate;

    /// The keys that had `threshold` different others or more by their estimate, the largest first.
    fn spreaders(&self, threshold: u64) -> HeavyKeys<K>;
}
