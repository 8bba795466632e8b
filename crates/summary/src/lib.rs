//! Summaries of a packet stream: exact flow tables, of one core or shared by several, and sketches.
//!
//! The crate does not know frame bytes, threads, clocks or query text.
//!
//! ```
//! use packet::Seed;
//! use summary::{GroupTable, Limits};
//!
//! // Sums by key, within a mebibyte.
//! let limits = Limits::new(1 << 20, usize::MAX);
//! let mut sums: GroupTable<2> = GroupTable::new(&[0], Seed::new(1), &limits);
//! let mut groups = Vec::new();
//! sums.groups(&[[1, 1], [2, 2], [1, 1]], &mut groups);
//! for (group, bytes) in groups.iter().zip([100, 200, 300]) {
//!     sums.state_mut(*group)[0] += bytes;
//! }
//! assert_eq!((sums.len(), sums.state(groups[0])), (2, &[400][..]));
//! ```
//!
//! `examples/flows.rs` turns frames into exact flows and window rows.

mod arena;
mod arrivals;
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
mod touched;
mod zoom;

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
pub use zoom::{Followed, Found, Zoom};
