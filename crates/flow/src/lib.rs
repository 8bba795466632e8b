//! What a flow record and a window row say: the field table (each field declared once), records, rows and estimates.
//!
//! A leaf: the crate knows nothing of frames, tables and writers, and depends on no other crate of the project.
#![forbid(unsafe_code)]

mod estimate;
mod field;
mod key;
mod loss_counts;
mod protocol;
mod record;
mod row;
mod statistic;
mod window;

pub use estimate::{Bounds, Estimate};
pub use field::{Aggregation, FIELDS, Field, InformationElement, Part, Value};
pub use key::FlowKey;
pub use loss_counts::LossCounts;
pub use protocol::protocol_name;
pub use record::{EndReason, FlowRecord, Loss, MAX_STATISTICS, More};
pub use row::{NULL, RowValue, Rows, WindowRow};
pub use statistic::{Metric, Statistic, StatisticKind};
pub use window::WindowId;
