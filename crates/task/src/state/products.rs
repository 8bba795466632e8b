//! Structures whose products with one another are asked for.

use super::Making;
use crate::{Structure, Weight};
use arena::Lease;
use packet::Key;
use sketch::{
    CountMin, CountSketch, CounterArray, Estimate, ExactCounts, KAry, Merge, SketchError, Summary,
    Unmergeable, Update, UpdateBurst,
};
use std::fmt;

/// A structure that counts the weights of keys, for their inner product with those of another stream.
pub(crate) enum ProductCounter<K: Key> {
    Exact(ExactCounts<K>),
    CountMin(CounterArray<CountMin>),
    CountMinBytes(CounterArray<CountMin<u64>>),
    CountSketch(CounterArray<CountSketch>),
    KAry(CounterArray<KAry>),
    KAryBytes(CounterArray<KAry<i64>>),
}

impl<K: Key> fmt::Debug for ProductCounter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Evaluates an expression for the structure, whichever it is.
macro_rules! each {
    ($counted:expr, $structure:ident => $body:expr) => {
        match $counted {
            Self::Exact($structure) => $body,
            Self::CountMin($structure) => $body,
            Self::CountMinBytes($structure) => $body,
            Self::CountSketch($structure) => $body,
            Self::KAry($structure) => $body,
            Self::KAryBytes($structure) => $body,
        }
    };
}

impl<K: Key> ProductCounter<K> {
    pub(crate) fn new(making: &Making, weight: Weight) -> Result<Self, SketchError> {
        let is_bytes = weight == Weight::Bytes;
        Ok(match making.structure {
            Structure::CountMin if is_bytes => Self::CountMinBytes(making.with_rows()?),
            Structure::CountMin => Self::CountMin(making.with_rows()?),
            Structure::CountSketch => Self::CountSketch(making.with_rows()?),
            Structure::KAry if is_bytes => Self::KAryBytes(making.with_rows()?),
            Structure::KAry => Self::KAry(making.with_rows()?),
            // The catalog has no others.
            _ => Self::Exact(making.sized()?),
        })
    }

    #[inline]
    pub(crate) fn update(&mut self, burst: &[Update<K>]) {
        each!(self, structure => structure.update_burst(burst));
    }

    /// Makes room for this many keys more, as far as there is memory. Only an exact table grows.
    pub(crate) fn make_room(&mut self, more: usize, memory: &mut Lease) {
        if let Self::Exact(table) = self {
            table.make_room(more, memory);
        }
    }

    /// True of a table that has all keys.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(table) if !table.is_short())
    }

    /// Weight of the keys that found no room.
    pub(crate) fn not_kept(&self) -> u64 {
        match self {
            Self::Exact(table) => table.not_kept(),
            _ => 0,
        }
    }

    pub(crate) fn reset(&mut self) {
        each!(self, structure => structure.reset());
    }

    pub(crate) fn bytes(&self) -> usize {
        each!(self, structure => structure.bytes())
    }

    /// The structure with its sizes.
    pub(crate) fn text(&self) -> String {
        each!(self, structure => structure.configuration().to_string())
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        match (self, other) {
            (Self::Exact(ours), Self::Exact(theirs)) => ours.merge(theirs),
            (Self::CountMin(ours), Self::CountMin(theirs)) => ours.merge(theirs),
            (Self::CountMinBytes(ours), Self::CountMinBytes(theirs)) => ours.merge(theirs),
            (Self::CountSketch(ours), Self::CountSketch(theirs)) => ours.merge(theirs),
            (Self::KAry(ours), Self::KAry(theirs)) => ours.merge(theirs),
            (Self::KAryBytes(ours), Self::KAryBytes(theirs)) => ours.merge(theirs),
            (ours, theirs) => Err(Unmergeable::new(ours.text(), theirs.text())),
        }
    }

    /// The sum over all keys of their weight here times their weight there, which is never below zero.
    ///
    /// # Errors
    /// If the other is another structure.
    pub(crate) fn product(&self, other: &Self) -> Result<Estimate, Unmergeable> {
        let product = match (self, other) {
            (Self::Exact(ours), Self::Exact(theirs)) => exact_product(ours, theirs),
            (Self::CountMin(ours), Self::CountMin(theirs)) => ours.inner_product(theirs)?,
            (Self::CountMinBytes(ours), Self::CountMinBytes(theirs)) => ours.inner_product(theirs)?,
            (Self::CountSketch(ours), Self::CountSketch(theirs)) => ours.inner_product(theirs)?,
            (Self::KAry(ours), Self::KAry(theirs)) => ours.inner_product(theirs)?,
            (Self::KAryBytes(ours), Self::KAryBytes(theirs)) => ours.inner_product(theirs)?,
            (ours, theirs) => return Err(Unmergeable::new(ours.text(), theirs.text())),
        };
        let bounds = product.bounds.map(|bounds| flow::Bounds { lower: bounds.lower.max(0.0), ..bounds });
        Ok(Estimate { value: product.value.max(0.0), bounds })
    }
}

/// The product of two tables. Beyond 2⁵³ a float has not all digits, so that bounds are around it.
fn exact_product<K: Key>(ours: &ExactCounts<K>, theirs: &ExactCounts<K>) -> Estimate {
    let (few, many) = if ours.len() < theirs.len() { (ours, theirs) } else { (theirs, ours) };
    let of_key = |(key, weight): (&K, u64)| u128::from(weight) * u128::from(many.weight(key));
    let sum = few.iter().map(of_key).fold(0, u128::saturating_add);
    let value = sum as f64;
    if value as u128 == sum {
        Estimate::exact(value)
    } else {
        Estimate::bounded(value, value.next_down(), value.next_up(), 1.0)
    }
}
