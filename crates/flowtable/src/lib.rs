//! Exact tables of flows and of groups, of one core or shared by several. [`by_hash`] has tables that know flows by a hash, for comparison.
//!
//! The crate does not know frame bytes, threads, clocks or query text.
//!
//! ```
//! use packet::Seed;
//! use arena::Limits;
//! use flowtable::GroupTable;
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

mod arrivals;
pub mod by_hash;
mod cuckoo;
mod entry;
mod flow_table;
mod group_table;
mod header_part;
mod loss_part;
mod parts;
mod share;
mod shared_table;
mod statistic;
mod statistic_part;
mod tally;
mod timeouts;
mod touched;
mod tracked_flows;

pub use entry::Counts;
pub use flow_table::{FlowSink, FlowTable, TableConfig};
pub use group_table::{GroupTable, NO_GROUP};
pub use parts::MeasuredParts;
pub use share::{FlowAttributes, FlowShare};
pub use shared_table::SharedTable;
pub use statistic::{
    Moments, PSquare, Quantile, RequestedStatistic, StatisticBlock, StatisticError, StatisticSpec,
};
pub use timeouts::Timeouts;
pub use tracked_flows::{RequestedMetrics, TrackedMeasurement, Zoom};
