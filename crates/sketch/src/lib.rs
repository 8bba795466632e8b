//! Summaries in little memory: they answer approximately, and state the bounds.
//!
//! A structure is a [`Summary`] made from its [`Configuration`], takes bursts by [`UpdateBurst`], and is
//! queried through the traits for what it can answer: [`Frequency`], [`HeavyHitters`], [`Cardinality`].
//! [`Merge`] is separate: what cannot be merged does not implement it, so that a design that would scatter a
//! flow over cores does not compile.
//!
//! **One hash.** Every row, bucket and tag is derived from the key's one 64-bit hash by the seed of the
//! configuration ([`packet::Key::hash`]); rows by strongly universal functions of it (`row_hash.rs`). The
//! caller must make the [`Update`]s with that seed: a summary cannot check it, and hashes queried keys by its
//! own seed. If the hash ignores direction ([`packet::Key::pair_hash`]), query by hash.
//!
//! **Bounds.** They hold for the packets that reached the structure. Earlier losses widen them:
//! [`Estimate::widened_by_loss`].

mod bitmap;
mod candidates;
mod cell;
mod chernoff;
mod coco_sketch;
mod combination;
mod confidence;
#[cfg(test)]
mod contact_oracle;
mod contact_sample;
mod count_min;
mod counter_array;
mod counters;
mod deviations;
mod draw;
mod dyadic;
mod entropy_sample;
mod error;
mod exact_counts;
mod grid;
mod hyper_log_log;
mod key;
mod key_index;
mod memory;
mod mv_sketch;
#[cfg(test)]
mod oracle;
pub mod parts;
#[cfg(all(test, not(loom)))]
mod parts_tests;
pub mod preset;
mod quantiles;
mod reservoir;
mod reversible;
mod row_hash;
mod row_sizes;
mod sample;
mod sample_inversion;
mod shared_bits;
mod shared_hash_table;
mod shared_sets;
mod simple_hash_table;
mod size_array;
mod size_distribution;
mod space_saving;
mod spread_sketch;
mod summary;
mod tracked;
mod value_reservoir;
mod word_sets;

pub use bitmap::{LinearBitmap, MultiResolutionBitmap};
pub use candidates::CoreCandidates;
pub use cell::{CounterCell, SignedCell};
pub use coco_sketch::CocoSketch;
pub use combination::{Combination, SummedCounters};
pub use contact_sample::ContactSample;
pub use counter_array::{
    ArrayConfig, Conservative, CountMin, CountSketch, CounterArray, InnerProduct, KAry, Linear, Policy,
    SharedArray, Signed, SignedPosition, Turnstile,
};
pub use dyadic::{DyadicArray, DyadicConfig};
pub use entropy_sample::EntropySample;
pub use error::{SketchError, Unmergeable};
pub use exact_counts::{ExactConfig, ExactCounts};
pub use flow::{Bounds, Estimate};
pub use grid::{Grid, GridConfig};
pub use hyper_log_log::HyperLogLog;
pub use key::ByteKey;
pub use mv_sketch::MvSketch;
pub use quantiles::{QuantileConfig, QuantileSketch, Quantiles};
pub use reversible::{KeyBytes, ReversibleKeys, ReversibleSketch, SharedReversibleKeys};
pub use row_sizes::{ErrorPromise, RowConfiguration, RowSizes};
pub use sample::{FlowSample, PacketSample, SampleAndHold, SampleConfig, SamplingMethod};
pub use shared_bits::{SharedBitmap, SharedBits, SharedHyperLogLog};
pub use shared_hash_table::SharedHashTable;
pub use shared_sets::SharedReversibleSets;
pub use simple_hash_table::SimpleHashTable;
pub use size_array::SizeArray;
pub use size_distribution::SizeDistribution;
pub use space_saving::{
    Heap, PriorityQueue, SpaceSaving, SpaceSavingHeap, SpaceSavingSummary, StreamSummary,
};
pub use spread_sketch::SpreadSketch;
pub use summary::{
    Cardinality, Configuration, Contact, ContactBurst, Frequency, HeavyHitters, HeavyKeys, Merge, Spreaders,
    Summary, Update, UpdateBurst,
};
pub use tracked::{Tracked, TrackedConfig};
pub use value_reservoir::ValueReservoir;
pub use word_sets::ReversibleSets;
