//! The parts that structures are made of, for structures outside of this crate.

pub use super::chernoff::mean_of;
pub use super::confidence::{CONFIDENCE, DEVIATIONS};
pub use super::counters::{add, grow};
pub use super::grid::{CellIndices, GridRows};
pub use super::memory::{filled, prefetch};
pub use super::row_hash::{MAX_ROWS, RowHash, place};
pub use super::summary::BURST;
