//! What a packet stream is summarised into: exact flow tables.
//!
//! The crate knows nothing of frame bytes, threads, clocks and query text.

mod arena;
mod cuckoo;
mod entry;
mod flow_table;
mod limits;
mod tags;

pub use arena::OutOfMemory;
pub use entry::Counts;
pub use flow_table::{FlowSink, FlowTable, Timeouts};
pub use limits::Limits;
