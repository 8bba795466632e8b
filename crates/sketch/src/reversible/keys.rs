//! The Reversible sketch of flow keys that have four bytes at most.

mod shared;

pub use shared::SharedReversibleKeys;

use super::{ReversibleSketch, WORDS};
use crate::counters::Weights;
use crate::{ByteKey, Combination, GridConfig, HeavyKeys, Merge, SketchError, Summary, Unmergeable, Update};
use packet::{KeySpec, MaskedKey};
use std::marker::PhantomData;

/// The most words of a key.
const MOST_KEY_WORDS: usize = 8;

/// The bytes that keys of one definition have, of which there are four at most: the keys of a [`ReversibleSketch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBytes {
    /// Their places in the key; the first `len` are in use.
    at: [u8; WORDS],
    len: usize,
    /// The bits of these bytes that keys have.
    mask: u32,
}

impl KeyBytes {
    /// The bytes of the keys that `spec` defines; the error is their number if they are more than four.
    ///
    /// # Errors
    /// If keys have more than four bytes, with how many they have.
    pub fn new<K: ByteKey + MaskedKey>(spec: &KeySpec) -> Result<Self, usize> {
        let all = K::from_words(&[u64::MAX; MOST_KEY_WORDS]).masked(spec);
        let mut bytes = [0; 8 * MOST_KEY_WORDS];
        all.to_bytes(&mut bytes);
        let mut places = (0_u8..).zip(&bytes[..K::BYTES]).filter(|(_, mask)| **mask != 0);
        let (mut at, mut mask) = ([0; WORDS], [0; WORDS]);
        let mut len = 0;
        for ((at, mask), (place, of)) in at.iter_mut().zip(&mut mask).zip(&mut places) {
            (*at, *mask, len) = (place, *of, len + 1);
        }
        match places.count() {
            0 => Ok(Self { at, len, mask: u32::from_be_bytes(mask) }),
            more => Err(len + more),
        }
    }

    /// The bytes of a key as a number.
    #[inline(always)]
    fn number<K: ByteKey>(&self, key: &K) -> u32 {
        let mut bytes = [0; 8 * MOST_KEY_WORDS];
        key.to_bytes(&mut bytes);
        // Places that are not in use are those of another byte, which the mask leaves out.
        u32::from_be_bytes(self.at.map(|at| bytes[usize::from(at)])) & self.mask
    }

    /// The key of such a number; `None` if no key has it.
    fn key<K: ByteKey>(&self, number: u32) -> Option<K> {
        let mut bytes = [0; 8 * MOST_KEY_WORDS];
        for (at, byte) in self.at[..self.len].iter().zip(number.to_be_bytes()) {
            bytes[usize::from(*at)] = byte;
        }
        (number & !self.mask == 0).then(|| K::from_bytes(&bytes[..K::BYTES]))
    }
}

/// A [`ReversibleSketch`] of flow keys that have four bytes at most.
#[derive(Clone, Debug)]
pub struct ReversibleKeys<K> {
    sketch: ReversibleSketch,
    bytes: KeyBytes,
    of: PhantomData<fn() -> K>,
}

impl<K: ByteKey> ReversibleKeys<K> {
    /// An empty one, of keys that have these bytes.
    ///
    /// # Errors
    /// The errors of [`Summary::new`].
    pub fn new(config: &GridConfig<ReversibleSketch>, bytes: KeyBytes) -> Result<Self, SketchError> {
        Ok(Self { sketch: ReversibleSketch::new(config)?, bytes, of: PhantomData })
    }

    /// The sizes of the sketch.
    pub fn configuration(&self) -> &GridConfig<ReversibleSketch> {
        self.sketch.configuration()
    }

    /// The sketch of the keys' bytes.
    pub fn sketch(&self) -> &ReversibleSketch {
        &self.sketch
    }

    /// Clears the sketch and keeps its memory.
    pub fn reset(&mut self) {
        self.sketch.reset();
    }

    /// Memory of the sketch.
    pub fn bytes(&self) -> usize {
        self.sketch.bytes()
    }

    /// Counts a burst. The hash of an [`Update`] is not used.
    pub fn update_burst(&mut self, burst: &[Update<K>]) {
        let bytes = self.bytes;
        self.sketch
            .take(burst, Weights::from_burst(burst), |update| (bytes.number(&update.key), update.weight));
    }

    /// Adds what `other` counted, of keys with the same bytes.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        self.sketch.merge(&other.sketch)
    }

    /// The keys that had `threshold` or more by their estimate, the largest first.
    pub fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        self.keys_of(self.sketch.heavy_numbers(threshold, |number| number & !self.bytes.mask == 0))
    }

    /// The keys whose total in `change` is `threshold` or more, or -`threshold` or less, by its estimate, the largest first. `change` is a
    /// combination of sketches of keys with the same bytes.
    ///
    /// # Errors
    /// If the configurations differ, with both.
    pub fn heavy_changes(
        &self,
        change: &Combination<ReversibleSketch>,
        threshold: f64,
    ) -> Result<HeavyKeys<K>, Unmergeable> {
        let found = self.sketch.heavy_changes(change, threshold, |number| number & !self.bytes.mask == 0)?;
        Ok(self.keys_of(found))
    }

    fn keys_of(&self, found: HeavyKeys<u32>) -> HeavyKeys<K> {
        let key = |(number, estimate)| Some((self.bytes.key(number)?, estimate));
        HeavyKeys::new(found.keys.into_iter().filter_map(key).collect(), found.is_cut_short)
    }
}
