//! Flow records: the field table (each field declared once) and the writers.
//!
//! The crate knows nothing of tables, threads and ports.
#![forbid(unsafe_code)]

mod field;
mod flow;
mod line;
#[cfg(feature = "parquet")]
mod parquet;
pub mod report;
mod selection;
mod target;
pub mod terminal;
mod text;
mod writer;

pub use field::{Aggregation, FIELDS, Field, InformationElement, Value};
pub use flow::{EndReason, FlowRecord};
pub use selection::{Selection, SelectionError};
pub use writer::{Format, RecordWriter, create};
