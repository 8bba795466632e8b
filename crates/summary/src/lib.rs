//! What a packet stream is summarised into: exact flow tables, of one core or of several together, and sketches.
//!
//! The crate knows nothing of frame bytes, threads, clocks and query text.

mod arena;
mod bits;
mod cuckoo;
mod entry;
mod flow_table;
mod group_table;
mod large_pages;
mod limits;
mod loss_part;
mod parts;
mod prefetch;
mod share;
mod shared;
pub mod sketch;
mod statistic;
mod statistic_part;
mod sync;
mod tags;
mod tally;
pub mod tcp;
mod timeouts;

pub use arena::OutOfMemory;
pub use entry::Counts;
pub use flow_table::{FlowSink, FlowTable, TableConfig};
pub use group_table::{GroupTable, NO_GROUP};
pub use limits::{Lease, Limits};
pub use parts::Parts;
pub use prefetch::prefetch_for_writing;
pub use share::{FlowShare, Marks};
pub use shared::SharedTable;
pub use statistic::{Moments, PSquare, Quantile, Statistic, StatisticBlock, StatisticError, StatisticSpec};
pub use timeouts::Timeouts;
