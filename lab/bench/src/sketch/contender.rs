//! A structure under test, of whatever kind.

use super::stream::SketchStream;
use crate::tuple::Tuple;
use packet::{Key, KeyV4};
use sketch::{Frequency, HeavyHitters, Summary, UpdateBurst};
use std::marker::PhantomData;

/// Packets of a burst.
const BURST: usize = 64;

/// A structure that is timed, and queried afterwards.
pub(super) trait Contender {
    fn name(&self) -> &'static str;
    /// Something to compare with, which is not queried.
    fn is_baseline(&self) -> bool {
        false
    }
    /// Clears it.
    fn reset(&mut self);
    /// Counts all packets, one each: keys to hashes to counters.
    fn count(&mut self, stream: &SketchStream);
    fn bytes(&self) -> usize;
    /// Returns its count of a flow; `None` if it does not know the flow.
    fn estimate(&self, key: &KeyV4) -> Option<f64>;
    /// The flows that it names for a threshold by itself; `None` if each flow has to be queried.
    fn listed(&self, threshold: u64) -> Option<Vec<KeyV4>>;
}

/// The form in which a structure takes keys.
pub(super) trait ContenderKey: Key {
    fn packets(stream: &SketchStream) -> &[Self];
    fn from_key(key: &KeyV4) -> Self;
    fn to_key(self) -> KeyV4;
}

/// The key of 16 bytes, as tables have it.
impl ContenderKey for KeyV4 {
    fn packets(stream: &SketchStream) -> &[Self] {
        &stream.keys
    }

    fn from_key(key: &KeyV4) -> Self {
        *key
    }

    fn to_key(self) -> KeyV4 {
        self
    }
}

/// The key of 13 bytes, as the papers count it.
impl ContenderKey for Tuple {
    fn packets(stream: &SketchStream) -> &[Self] {
        &stream.tuples
    }

    fn from_key(key: &KeyV4) -> Self {
        Tuple::from_v4(key)
    }

    fn to_key(self) -> KeyV4 {
        self.key()
    }
}

/// A structure of Edison's, as the engine feeds it.
pub(super) struct Edison<S, K = KeyV4> {
    name: &'static str,
    summary: S,
    ask: fn(&S, &KeyV4) -> Option<f64>,
    list: fn(&S, u64) -> Option<Vec<KeyV4>>,
    form: PhantomData<fn(K)>,
}

impl<K: ContenderKey, S: UpdateBurst<K> + Frequency<K>> Edison<S, K> {
    /// One that is queried for each flow.
    pub(super) fn asked(name: &'static str, configuration: &S::Configuration) -> Result<Self, String> {
        let ask = |summary: &S, key: &KeyV4| Some(summary.estimate(&K::from_key(key)).value);
        Self::new(name, configuration, ask, |_, _| None)
    }

    /// Makes a contender that names flows, and is also queried for each.
    pub(super) fn listing(name: &'static str, configuration: &S::Configuration) -> Result<Self, String>
    where
        S: HeavyHitters<K>,
    {
        let ask = |summary: &S, key: &KeyV4| Some(summary.estimate(&K::from_key(key)).value);
        let list = |summary: &S, threshold: u64| {
            Some(summary.heavy_hitters(threshold).keys.into_iter().map(|(key, _)| key.to_key()).collect())
        };
        Self::new(name, configuration, ask, list)
    }
}

impl<K: ContenderKey, S: UpdateBurst<K>> Edison<S, K> {
    fn new(
        name: &'static str,
        configuration: &S::Configuration,
        ask: fn(&S, &KeyV4) -> Option<f64>,
        list: fn(&S, u64) -> Option<Vec<KeyV4>>,
    ) -> Result<Self, String> {
        let summary = S::new(configuration).map_err(|error| error.to_string())?;
        Ok(Self { name, summary, ask, list, form: PhantomData })
    }
}

impl<K: ContenderKey, S: UpdateBurst<K>> Contender for Edison<S, K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reset(&mut self) {
        Summary::reset(&mut self.summary);
    }

    fn count(&mut self, stream: &SketchStream) {
        for keys in K::packets(stream).chunks(BURST) {
            self.summary.count_keys(keys);
        }
    }

    fn bytes(&self) -> usize {
        Summary::bytes(&self.summary)
    }

    fn estimate(&self, key: &KeyV4) -> Option<f64> {
        (self.ask)(&self.summary, key)
    }

    fn listed(&self, threshold: u64) -> Option<Vec<KeyV4>> {
        (self.list)(&self.summary, threshold)
    }
}
