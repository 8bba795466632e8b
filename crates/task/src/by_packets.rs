//! Questions by fields in which the packets of one flow may differ: they are answered by rows of which each has the packets of one flow
//! with one value of these fields.
//!
//! ```text
//! packets ─▶ SplitTable (each worker) ─▶ merged when the window is over ─▶ SplitQuery: filter by packets, merge by group ─▶ RowQueries
//! ```
//!
//! Flow tables, their rows and records know nothing of it.

mod query;
mod table;
mod window;

pub(crate) use query::split;
pub use query::{SplitQuery, refused_by_packets};
pub(crate) use table::SplitTable;
pub(crate) use window::SplitPlan;
pub use window::{SplitRows, SplitWindow};
