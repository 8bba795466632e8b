//! Answers, windows and the run report as owned, serialisable data, and their JSON.
//!
//! The crate does not depend on how an answer was computed. An [`Answer`] is a table of typed [`Value`]s
//! under named [`Column`]s; a [`Window`] has the answers of one window; a [`RunReport`] those of the whole
//! run. Values written as JSON and read back are equal. `docs/report.md` describes the JSON, `docs/schema`
//! holds its schemas.
//!
//! ```
//! use model::{Answer, Column, ColumnKind, Span, Value};
//!
//! let columns = vec![
//!     Column::new("dst_addr", ColumnKind::Address, ""),
//!     Column::new("total_byte", ColumnKind::Unsigned, "bytes"),
//! ];
//! let window = Span { start_ns: 1_795_534_800_000_000_000, end_ns: 1_795_534_810_000_000_000 };
//! let address = Value::Address("192.0.2.7".parse()?);
//! let rows = vec![vec![address, Value::Unsigned(u64::MAX)]];
//! let answer = Answer::new("q1", Some(window), columns, rows);
//!
//! let json = serde_json::to_string(&answer)?;
//! assert!(json.contains(r#""window":{"start":"2026-11-24T15:40:00.000000000Z","end":"2026-11-24T15:40:10.000000000Z"}"#));
//! assert!(json.contains(r#""rows":[{"dst_addr":"192.0.2.7","total_byte":"18446744073709551615"}]"#));
//! assert_eq!(serde_json::from_str::<Answer>(&json)?, answer);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod answer;
mod capture;
mod column;
mod counters;
mod event;
mod history;
mod integer;
mod key;
mod missing;
mod nullable;
mod own_query;
mod prefix;
mod rfc3339;
mod row;
mod run;
mod sampling;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "schema")]
mod schema_forms;
mod span;
mod story;
mod totals;
mod untold;
mod value;
pub mod view;
mod window;

pub use answer::{Account, Answer, AnswerStatus, Class, Rest, TaskNote, weaker_bounds};
pub use capture::Capture;
pub use column::{Column, ColumnKind};
pub use counters::{Counters, PacketCounts, coverage};
pub use event::{Event, EventKind, Item};
pub use history::{DryRunNode, DryRunOutcome, HistoryAnswers, HistoryNode};
pub use integer::{Integer, Positive};
pub use missing::{Missing, MissingReason};
pub use nullable::Nullable;
pub use own_query::{RANKINGS, SUMS, is_own_query};
pub use prefix::network;
pub use rfc3339::{Time, format_time, parse_time};
pub use run::{
    Amount, DesignReport, ExporterReport, FlowCounts, HardwareReport, HashTableCounts, OutputCounts, Rates,
    RunEvents, RunReport, StepsReport, StepsThread, TuningChange, TuningReport, TuningSettings, TuningUnmet,
    UndecidedReport, WireReport,
};
pub use sampling::Sampling;
pub use span::Span;
pub use story::Story;
pub use totals::Totals;
pub use untold::{samples_sentence, untold_sentences, wire_bytes_sentence};
pub use value::{Conversation, Heaviest, Value};
pub use window::{Window, WindowCounts, WindowEnd};
