//! The traits: what every structure does, and the queries that some answer.

use super::{Estimate, SketchError, Unmergeable};
use packet::{Key, Seed};
use std::fmt;

/// Updates whose memory is prefetched at a time.
pub const BURST: usize = 64;

/// A packet in the form for summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Update<K> {
    /// The packet's flow key.
    pub key: K,
    /// The key's hash by the seed of the summary's configuration.
    pub hash: u64,
    /// The weight of the packet: 1 if packets are counted, else its bytes.
    pub weight: u64,
}

impl<K: Key> Update<K> {
    /// Creates an update with the key's hash by `seed`.
    #[inline(always)]
    pub fn new(key: K, weight: u64, seed: &Seed) -> Self {
        Self { key, hash: key.hash(seed), weight }
    }
}

/// A packet in the form for summaries that count the distinct peers of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contact<K> {
    /// The key whose peers are counted, such as a source address.
    pub key: K,
    /// A secret hash of the key and the peer together.
    pub pair: u64,
}

impl<K: Key> Contact<K> {
    /// The contact of a key; `both` consists of the key and the peer (for sources of many destinations, both
    /// addresses), by the seed of the summary's configuration.
    #[inline(always)]
    pub fn new(key: K, both: K, seed: &Seed) -> Self {
        Self { key, pair: both.hash(seed) }
    }
}

/// The configuration that a structure is made from. Two structures merge only if their configurations are equal, seed included. Its text
/// form names the kind and all sizes, but never the seed.
pub trait Configuration: Clone + PartialEq + fmt::Display {
    /// The largest structure that takes no more than `bytes`, with the other parameters at their defaults.
    ///
    /// # Errors
    /// If the memory is below the least, with the least.
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError>;

    /// Memory that the structure's arrays will take.
    fn bytes(&self) -> usize;

    /// The seed by which keys must be hashed.
    fn seed(&self) -> &Seed;
}

/// A structure that summarises a stream.
pub trait Summary: Sized {
    /// The configuration of the structure.
    type Configuration: Configuration;

    /// An empty one. All its memory is allocated here.
    ///
    /// # Errors
    /// If a size is zero or too large, or the memory cannot be allocated.
    fn new(configuration: &Self::Configuration) -> Result<Self, SketchError>;

    /// The configuration.
    fn configuration(&self) -> &Self::Configuration;

    /// Clears the summary and keeps its memory: the result equals a new one.
    fn reset(&mut self);

    /// Memory of its arrays and tables.
    fn bytes(&self) -> usize;
}

/// Counts packets. Separate from [`Summary`], because structures that need only the hash accept keys of any
/// kind.
pub trait UpdateBurst<K>: Summary {
    /// Counts a burst: no allocation, no lock, no clock.
    fn update_burst(&mut self, burst: &[Update<K>]);

    /// Counts a packet of each of these keys, which it hashes by its own seed: for callers that have not
    /// hashed them already. Arrays larger than the caches hash while they wait for memory.
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

/// Counts contacts.
pub trait ContactBurst<K>: Summary {
    /// Counts a burst: no lock, no clock, no allocation.
    fn contact_burst(&mut self, burst: &[Contact<K>]);
}

/// Merges the summaries of two streams into one of both. Structures that would lose their bound do not
/// implement it.
pub trait Merge: Summary {
    /// Adds what `other` counted to `self`.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable>;
}

/// "How much did this flow have?"
pub trait Frequency<K>: Summary {
    /// The total weight of `key`.
    fn estimate(&self, key: &K) -> Estimate;
}

/// "Which flows are heavy?"
pub trait HeavyHitters<K>: Summary {
    /// The flows that had `threshold` or more by their estimate, the largest first.
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K>;
}

/// The answer of [`HeavyHitters`].
#[derive(Clone, Debug, PartialEq)]
pub struct HeavyKeys<K> {
    /// Keys with their estimates, the largest first; of differences, the largest either way.
    pub keys: Vec<(K, Estimate)>,
    /// True if there may be more: the search ended at its own bound, or too few flows are kept next to the
    /// structure.
    pub is_cut_short: bool,
}

impl<K: Ord + Copy> HeavyKeys<K> {
    /// Sorts what was found, which may be in any order.
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

/// "How many distinct peers did each key have?" (super-spreaders: scans, floods, worms)
pub trait Spreaders<K>: Summary {
    /// The number of distinct peers of `key`.
    fn contacts(&self, key: &K) -> Estimate;

    /// The keys that had `threshold` distinct peers or more by their estimate, the largest first.
    fn spreaders(&self, threshold: u64) -> HeavyKeys<K>;
}
