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
mod ranking;
pub mod report;
mod rotation;
mod selection;
mod target;
pub mod terminal;
mod text;
mod writer;

pub use account::Account;
pub use anonymize::Anonymizer;
pub use format::{Format, create};
pub use ipfix::{Collector, CollectorError, EXPORT_QUEUE_BYTES, Patience, Transport, domain_of, export};
pub use ranking::Ranking;
pub use rotation::{Rotation, create_rotating};
pub use selection::{Column, Needed, Parts, Selection, SelectionError};
pub use writer::{Delivery, RecordWriter};
