//! Samples, the third family of Alipourfard et al. (HotNets 2015, table 1): some of the packets, some of the
//! flows, or all packets of a flow from a certain one on.
//!
//! All three keep flows in a table of fixed size. If it is full, a new flow is not kept, which is counted
//! ([`not_kept`](PacketSample::not_kept)): it then counts as not sampled, and answers about flows that are
//! not in the table no longer have a bound.

mod flows;
mod hold;
mod packets;
mod table;
#[cfg(test)]
mod tests;

pub use flows::FlowSample;
pub use hold::SampleAndHold;
pub use packets::PacketSample;

use super::grid::widest;
use super::{Configuration, SketchError};
use packet::{Key, Seed};
use std::fmt;
use std::marker::PhantomData;

/// A way of sampling.
pub trait SamplingMethod {
    /// The method's usual name.
    const KIND: &'static str;
    /// The unit that is sampled, for the text form.
    const UNIT: &'static str;
    /// Memory for this many flows.
    fn bytes(capacity: usize) -> usize;
}

/// The configuration of a sample.
pub struct SampleConfig<T> {
    /// One in this many is taken, at random; 1 takes all.
    pub one_in: u32,
    /// Flows that can be kept.
    pub capacity: usize,
    /// The seed of the draws.
    pub seed: Seed,
    of: PhantomData<fn() -> T>,
}

impl<T: SamplingMethod> SampleConfig<T> {
    /// One in this many if only the memory is given: as with sampled NetFlow on fast links.
    pub const DEFAULT_ONE_IN: u32 = 100;

    /// Creates a configuration, which is checked when the sample is made.
    pub fn new(one_in: u32, capacity: usize, seed: Seed) -> Self {
        Self { one_in, capacity, seed, of: PhantomData }
    }

    /// The probability of being taken.
    fn probability(&self) -> f64 {
        1.0 / f64::from(self.one_in)
    }

    fn check(&self) -> Result<(), SketchError> {
        SketchError::check_size(T::KIND, "rate of one in", self.one_in as usize, 1, u32::MAX as usize)?;
        SketchError::check_size(T::KIND, "capacity", self.capacity, 1, table::MOST)
    }
}

impl<T: SamplingMethod> Configuration for SampleConfig<T> {
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        if T::bytes(1) > bytes {
            return Err(SketchError::TooLittleMemory { kind: T::KIND, bytes, least: T::bytes(1) });
        }
        let capacity = widest(1..=table::MOST, |capacity| T::bytes(capacity) <= bytes);
        Ok(Self::new(Self::DEFAULT_ONE_IN, capacity, seed))
    }

    fn bytes(&self) -> usize {
        T::bytes(self.capacity)
    }

    fn seed(&self) -> &Seed {
        &self.seed
    }
}

impl<T: SamplingMethod> fmt::Display for SampleConfig<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (one {} in {}, capacity {})", T::KIND, T::UNIT, self.one_in, self.capacity)
    }
}

impl<T: SamplingMethod> fmt::Debug for SampleConfig<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Derived, they would require the same of `T`.
impl<T> Clone for SampleConfig<T> {
    fn clone(&self) -> Self {
        Self { one_in: self.one_in, capacity: self.capacity, seed: self.seed, of: PhantomData }
    }
}

impl<T> PartialEq for SampleConfig<T> {
    fn eq(&self, other: &Self) -> bool {
        self.one_in == other.one_in && self.capacity == other.capacity && self.seed == other.seed
    }
}

macro_rules! sampling {
    ($sample:ident, $kind:literal, $unit:literal) => {
        impl<K: Key> SamplingMethod for $sample<K> {
            const KIND: &'static str = $kind;
            const UNIT: &'static str = $unit;
            fn bytes(capacity: usize) -> usize {
                table::SampleTable::<K>::bytes(capacity)
            }
        }
    };
}

sampling!(PacketSample, "packet sample", "packet");
sampling!(FlowSample, "flow sample", "flow");
sampling!(SampleAndHold, "sample and hold", "unit");
