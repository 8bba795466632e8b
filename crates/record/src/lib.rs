//! Flow records: the field table (each field declared once), the writers, the exporters, and what hides addresses.
//!
//! The crate knows nothing of tables, ports and how packets are measured.
#![forbid(unsafe_code)]

mod account;
mod anonymize;
mod estimate;
mod field;
mod flow;
mod ipfix;
mod line;
#[cfg(feature = "parquet")]
mod parquet;
mod ranking;
pub mod report;
mod rotation;
mod selection;
mod statistic;
mod target;
pub mod terminal;
mod text;
mod writer;

pub use account::Account;
pub use anonymize::Anonymizer;
pub use estimate::{Bounds, Estimate};
pub use field::{Aggregation, FIELDS, Field, InformationElement, Part, Value};
pub use flow::{EndReason, FlowRecord, Loss, MAX_STATISTICS, More};
pub use ipfix::{Collector, CollectorError, EXPORT_QUEUE_BYTES, Patience, Transport, domain_of, export};
pub use ranking::Ranking;
pub use rotation::{Rotation, create_rotating};
pub use selection::{Column, Parts, Selection, SelectionError};
pub use statistic::{Metric, Statistic, StatisticKind};
pub use writer::{Delivery, Format, RecordWriter, create};
