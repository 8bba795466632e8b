//! Structures that know the order of values.

use super::Making;
use crate::Structure;
use arena::Lease;
use packet::{KeyV4, Seed};
use sketch::{
    Configuration, DyadicArray, DyadicConfig, Estimate, ExactCounts, Merge, QuantileSketch, Quantiles,
    SketchError, Summary, Unmergeable, Update, UpdateBurst, ValueReservoir,
};
use std::fmt;

/// Values that are added together.
const BATCH: usize = 64;

/// A structure that knows the order of values.
pub(crate) enum OrderedValues {
    Exact(Seed, ExactCounts<KeyV4>),
    Dyadic(DyadicArray),
    Reservoir(ValueReservoir),
    DdSketch(QuantileSketch),
}

impl fmt::Debug for OrderedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// A value as a key of the exact table.
fn key_of(value: u64) -> KeyV4 {
    KeyV4::new(value.to_be_bytes(), [0; 4], 0)
}

fn value_of(key: &KeyV4) -> u64 {
    let bytes = key.to_bytes();
    u64::from_be_bytes(std::array::from_fn(|i| bytes[i]))
}

impl OrderedValues {
    /// Creates a structure for values below 2^`bits`.
    pub(crate) fn new(making: &Making, bits: u32) -> Result<Self, SketchError> {
        let Making { structure, bytes, seed, .. } = *making;
        Ok(match structure {
            Structure::Dyadic => Self::Dyadic(DyadicArray::new(&DyadicConfig::for_bits(bits, bytes, seed)?)?),
            Structure::Reservoir => {
                Self::Reservoir(ValueReservoir::new(&Configuration::with_bytes(bytes, seed)?)?)
            }
            Structure::DdSketch => {
                Self::DdSketch(QuantileSketch::new(&Configuration::with_bytes(bytes, seed)?)?)
            }
            _ => Self::Exact(seed, ExactCounts::new(&Configuration::with_bytes(bytes, seed)?)?),
        })
    }

    #[inline]
    pub(crate) fn update(&mut self, values: &[u64]) {
        match self {
            Self::Exact(seed, table) => batches(
                values,
                |value| Update::new(key_of(value), 1, seed),
                |batch| table.update_burst(batch),
            ),
            Self::Dyadic(array) => {
                let update = |value| Update { key: value, hash: 0, weight: 1 };
                batches(values, update, |batch| array.update_burst(batch));
            }
            Self::Reservoir(reservoir) => batches(values, weighed, |batch| reservoir.update_burst(batch)),
            Self::DdSketch(sketch) => batches(values, weighed, |batch| sketch.update_burst(batch)),
        }
    }

    /// Takes values, each with its number of packets. Only an exact table is given them.
    pub(crate) fn update_weighed(&mut self, values: &[(u64, u64)]) {
        if let Self::Exact(seed, table) = self {
            for &(value, packets) in values {
                table.update_burst(&[Update::new(key_of(value), packets, seed)]);
            }
        }
    }

    /// Makes room for this many values more, as far as there is memory. Only an exact table grows.
    pub(crate) fn make_room(&mut self, more: usize, memory: &mut Lease) {
        if let Self::Exact(_, table) = self {
            table.make_room(more, memory);
        }
    }

    /// True of a table that has all values.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_, table) if !table.is_short())
    }

    pub(crate) fn reset(&mut self) {
        match self {
            Self::Exact(_, table) => table.reset(),
            Self::Dyadic(array) => array.reset(),
            Self::Reservoir(reservoir) => reservoir.reset(),
            Self::DdSketch(sketch) => sketch.reset(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Exact(_, table) => table.bytes(),
            Self::Dyadic(array) => array.bytes(),
            Self::Reservoir(reservoir) => reservoir.bytes(),
            Self::DdSketch(sketch) => sketch.bytes(),
        }
    }

    /// The structure with its sizes.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Exact(_, table) => table.configuration().to_string(),
            Self::Dyadic(array) => array.configuration().to_string(),
            Self::Reservoir(reservoir) => reservoir.configuration().to_string(),
            Self::DdSketch(sketch) => sketch.configuration().to_string(),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        match (self, other) {
            (Self::Exact(_, ours), Self::Exact(_, theirs)) => ours.merge(theirs),
            (Self::Dyadic(ours), Self::Dyadic(theirs)) => ours.merge(theirs),
            (Self::Reservoir(ours), Self::Reservoir(theirs)) => ours.merge(theirs),
            (Self::DdSketch(ours), Self::DdSketch(theirs)) => ours.merge(theirs),
            (ours, theirs) => Err(Unmergeable::new(ours.text(), theirs.text())),
        }
    }

    /// The least values that these shares of all, in ascending order, do not lie above; none where nothing was counted.
    pub(crate) fn quantiles(&self, shares: &[f64], total: u64) -> Vec<Option<Estimate>> {
        // Those two count ranks from 0 to n − 1; here the value is of rank ⌈share·n⌉.
        let of_rank = |share: f64| {
            let rank = (share * total as f64).ceil().max(1.0) - 1.0;
            if total > 1 { ((rank + 0.5) / (total - 1) as f64).min(1.0) } else { 1.0 }
        };
        match self {
            Self::Exact(_, table) => exact_quantiles(table, shares),
            Self::Dyadic(array) => shares.iter().map(|share| array.quantile(*share)).collect(),
            Self::Reservoir(reservoir) => {
                shares.iter().map(|share| reservoir.quantile(of_rank(*share))).collect()
            }
            Self::DdSketch(sketch) => shares.iter().map(|share| sketch.quantile(of_rank(*share))).collect(),
        }
    }

    /// Values that found no room.
    pub(crate) fn not_kept(&self) -> u64 {
        match self {
            Self::Exact(_, table) => table.not_kept(),
            _ => 0,
        }
    }
}

/// A value as an update for structures without keys.
fn weighed(value: u64) -> Update<()> {
    Update { key: (), hash: 0, weight: value }
}

#[inline(always)]
fn batches<K: Copy + Default>(
    values: &[u64],
    update: impl Fn(u64) -> Update<K>,
    mut take: impl FnMut(&[Update<K>]),
) {
    let mut batch = [Update::<K>::default(); BATCH];
    for values in values.chunks(BATCH) {
        for (update_of, value) in batch.iter_mut().zip(values) {
            *update_of = update(*value);
        }
        take(&batch[..values.len()]);
    }
}

fn exact_quantiles(table: &ExactCounts<KeyV4>, shares: &[f64]) -> Vec<Option<Estimate>> {
    let mut counts: Vec<(u64, u64)> = table.iter().map(|(key, count)| (value_of(key), count)).collect();
    counts.sort_unstable();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let is_whole = table.not_kept() == 0;
    let value = |share: f64| {
        let rank = (share * total as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = counts.iter().find(|(_, count)| {
            below += count;
            below >= rank
        });
        let value = found.or(counts.last()).map(|(value, _)| *value as f64)?;
        Some(if is_whole { Estimate::exact(value) } else { Estimate::unbounded(value) })
    };
    shares.iter().map(|share| value(*share)).collect()
}
