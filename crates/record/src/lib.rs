//! Flow records: the field table (each field declared once) and the writers.
//!
//! The crate knows nothing of tables, threads and ports.
#![forbid(unsafe_code)]

mod flow;

pub use flow::{EndReason, FlowRecord};
