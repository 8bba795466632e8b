//! Structures that count the peers of each key.

use super::Making;
use crate::Structure;
use arena::Lease;
use packet::Key;
use sketch::{
    Contact, ContactBurst, ContactSample, HeavyKeys, Merge, SketchError, SpreadSketch, Spreaders, Summary,
    Unmergeable,
};

/// A structure that counts the peers of each key. A sample that all contacts go into is exact.
#[derive(Debug)]
pub(crate) enum ContactCounter<K: Key> {
    Sample(ContactSample<K>),
    Sketch(Box<SpreadSketch<K>>),
}

impl<K: Key> ContactCounter<K> {
    pub(crate) fn new(making: &Making) -> Result<Self, SketchError> {
        Ok(match making.structure {
            Structure::SpreadSketch => Self::Sketch(Box::new(making.with_rows()?)),
            _ => Self::Sample(making.sized()?),
        })
    }

    #[inline]
    pub(crate) fn update(&mut self, burst: &[Contact<K>]) {
        match self {
            Self::Sample(sample) => sample.contact_burst(burst),
            Self::Sketch(sketch) => sketch.contact_burst(burst),
        }
    }

    /// Makes room for this many contacts more, as far as there is memory. Only a sample grows.
    pub(crate) fn make_room(&mut self, more: usize, memory: &mut Lease) {
        if let Self::Sample(sample) = self {
            sample.make_room(more, memory);
        }
    }

    /// True of a sample that has all contacts.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Sample(sample) if sample.level() == 0)
    }

    pub(crate) fn reset(&mut self) {
        match self {
            Self::Sample(sample) => sample.reset(),
            Self::Sketch(sketch) => sketch.reset(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Sample(sample) => sample.bytes(),
            Self::Sketch(sketch) => sketch.bytes(),
        }
    }

    /// The structure with its sizes.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Sample(sample) => sample.configuration().to_string(),
            Self::Sketch(sketch) => sketch.configuration().to_string(),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        match (self, other) {
            (Self::Sample(ours), Self::Sample(theirs)) => ours.merge(theirs),
            (Self::Sketch(ours), Self::Sketch(theirs)) => ours.merge(theirs),
            (ours, theirs) => Err(Unmergeable::new(ours.text(), theirs.text())),
        }
    }

    /// The most peers of any key that is not listed, where no estimate of those that are known and not listed is more than `known`. `None` where
    /// nothing certain bounds it.
    pub(crate) fn most_unlisted(&self, known: u64) -> Option<u64> {
        self.is_exact().then_some(known)
    }

    pub(crate) fn spreaders(&self, threshold: u64) -> HeavyKeys<K> {
        match self {
            Self::Sample(sample) => sample.spreaders(threshold),
            Self::Sketch(sketch) => sketch.spreaders(threshold),
        }
    }
}
