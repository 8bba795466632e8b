//! What a flow record and a window row say: the field table (each field declared once), records, rows and estimates.
//!
//! A leaf: the crate knows nothing of frames, tables and writers, and depends on no other crate of the project.
#![forbid(unsafe_code)]

mod estimate;
mod field;
mod key;
mod record;
mod statistic;
mod window;

pub use estimate::{Bounds, Estimate};
pub use field::{Aggregation, FIELDS, Field, InformationElement, Part, Value};
pub use key::FlowKey;
pub use record::{EndReason, FlowRecord, Loss, MAX_STATISTICS, More};
pub use statistic::{Metric, Statistic, StatisticKind};
pub use window::WindowId;
