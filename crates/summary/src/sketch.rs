//! Summaries in little memory: they answer nearly, and say within which bounds.
//!
//! A structure is a [`Summary`] made from its [`Configuration`], takes bursts by [`UpdateBurst`], and is asked through
//! the traits for what it can answer: [`Frequency`], [`HeavyHitters`], [`Cardinality`]. [`Merge`] stands apart: what
//! cannot be merged does not implement it, so that a design that would scatter a flow over cores does not compile.
//!
//! **One hash.** Every row, bucket and tag is derived from the key's one 64-bit hash by the seed of the configuration
//! ([`packet::Key::hash`]); rows by strongly universal functions of it (`row_hash.rs`). Whoever makes the [`Update`]s must use that seed: a summary cannot tell, and answers for keys
//! that it is asked about by its own seed. Where the hash ignores direction ([`packet::Key::pair_hash`]) ask by hash.
//!
//! **Bounds.** They hold for what the structure saw. What was lost before it widens them:
//! [`Estimate::widened_by_loss`].

mod candidates;
mod counter_array;
mod dyadic;
mod error;
mod estimate;
mod memory;
pub mod preset;
mod row_hash;
mod summary;
mod tracked;

pub use counter_array::{
    ArrayConfig, Cell, Conservative, CountMin, CountSketch, CounterArray, InnerProduct, KAry, Linear, Place,
    Policy, SharedArray, Signed, SignedCell, Turnstile,
};
pub use dyadic::{DyadicArray, DyadicConfig};
pub use error::{SketchError, Unmergeable};
pub use estimate::{Bounds, Estimate};
pub use summary::{
    Cardinality, Configuration, Frequency, HeavyHitters, HeavyKeys, Merge, Summary, Update, UpdateBurst,
};
pub use tracked::{Tracked, TrackedConfig};
