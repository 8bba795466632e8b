//! Outputs for flow records: writers, exporters, and anonymisation of addresses; and their files read back ([`read`]).
//!
//! The crate does not know tables, ports or how packets are measured.
//!
//! ```
//! use flow::FlowRecord;
//! use record::{RecordContents, Selection};
//!
//! let columns = Selection::parse("stime,total_count", &RecordContents::default())?;
//! let path = std::env::temp_dir().join(format!("record-example-{}.csv", std::process::id()));
//! let mut writer = record::create(&path, "node1", &columns)?;
//! writer.write(&[FlowRecord { total_count: 3, ..FlowRecord::without_packets(0, 0) }])?;
//! writer.finish()?;
//! let text = std::fs::read_to_string(&path)?;
//! assert_eq!(text.lines().next(), Some("stime,total_count"));
//! assert_eq!(text.lines().count(), 2);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod account;
mod anonymize;
mod fault;
mod format;
mod ipfix;
mod line;
mod parquet;
mod parquet_file;
mod parquet_values;
pub mod read;
mod rotation;
mod rows;
mod selection;
mod sorted;
mod summed_file;
mod sums;
mod target;
mod text;
mod untold;
mod window_sample;
mod windows;
mod writer;

pub use account::{MeasurementTotals, Shortfall};
pub use anonymize::Anonymizer;
pub use fault::records_written;
pub use format::create_stored;
pub use format::{Format, check, create};
pub use ipfix::{Collector, CollectorError, EXPORT_QUEUE_BYTES, Patience, Transport, domain_of, export};
pub use rotation::{Rotation, create_rotating};
pub use rows::{RowParts, RowWindow, RowWriter, record_of_row};
pub use selection::{FileColumn, RecordContents, RequiredPart, Selection, SelectionError};
pub(crate) use selection::{KEY_COLUMN, SHARE_COLUMN};
pub use sorted::{Copied, CopyError, RowOrder, sorted_copy};
pub use window_sample::WindowSample;
pub use windows::{RecordedWindows, WindowFacts};
pub use writer::{RecordWriter, WriterReport};
