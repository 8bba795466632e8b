//! The contents of flow records and window rows: the field table (each field declared once), records, rows
//! and estimates.
//!
//! A leaf: the crate does not know frames, tables or writers, and depends on no other crate of the project.
//!
//! ```
//! use flow::{Bounds, Estimate, Field};
//!
//! let field = Field::named("total_byte").expect("a field of every record");
//! assert_eq!((field.name, field.unit), ("total_byte", "bytes"));
//! // Three packets that were lost may have been of this flow.
//! let estimate = Estimate::exact(10.0).widened_by_loss(Some(3));
//! assert_eq!(estimate.bounds, Some(Bounds { lower: 10.0, upper: 13.0, confidence: 1.0 }));
//! ```
#![forbid(unsafe_code)]

mod aggregation;
mod alias;
mod derived;
mod estimate;
mod field;
mod header_field;
mod header_values;
mod information_element;
mod key;
mod loss_counts;
mod null;
mod part;
mod protocol;
mod record;
mod row;
mod row_batch;
mod row_columns;
mod row_record;
mod row_statistics;
mod sampled;
mod service;
mod share;
mod statistic;
mod untold;
mod window;

pub use aggregation::Aggregation;
pub use alias::resolve_alias;
pub use derived::{DERIVED, Derived, DerivedField};
pub use estimate::{Bounds, Estimate};
pub use field::{FIELDS, Field, FieldAccessor};
pub use header_values::{HEADER_FIELDS, HeaderValues};
pub use information_element::InformationElement;
pub use key::FlowKey;
pub use loss_counts::LossCounts;
pub use null::{NULL, float_bits};
pub use part::{Part, TrackedParts};
pub use protocol::{protocol_name, protocol_names, protocol_number};
pub use record::{EndReason, FlowRecord, Loss, MAX_STATISTICS, More};
pub use row::{RowValue, Rows, WindowRow};
pub use row_batch::RowBatch;
pub use row_columns::{BatchRows, row_columns};
pub use row_statistics::{MAX_ROW_STATISTICS, RowStatistics};
pub use sampled::Sampled;
pub use service::{SERVICES, Service, service};
pub use share::Share;
pub use statistic::{Metric, NoStatistic, Statistic, StatisticKind};
pub use untold::{OpenFields, Untold};
pub use window::WindowId;
