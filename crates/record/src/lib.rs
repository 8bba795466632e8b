//! What is done with flow records: writers, exporters, and what hides addresses.
//!
//! The crate knows nothing of tables, ports and how packets are measured.
#![forbid(unsafe_code)]

mod account;
mod anonymize;
mod format;
mod ipfix;
mod line;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_file;
mod rotation;
#[cfg(feature = "parquet")]
mod rows;
mod selection;
mod target;
mod text;
mod writer;

pub use account::Account;
pub use anonymize::Anonymizer;
pub use format::{Format, create};
pub use ipfix::{Collector, CollectorError, EXPORT_QUEUE_BYTES, Patience, Transport, domain_of, export};
pub use rotation::{Rotation, create_rotating};
#[cfg(feature = "parquet")]
pub use rows::{RowWindow, RowWriter};
pub use selection::{Column, Needed, Parts, Selection, SelectionError};
pub use writer::{Delivery, RecordWriter};
