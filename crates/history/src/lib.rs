//! Answers queries over recorded flows: files of flow records and of window rows.
//!
//! [`FlowFiles::open`] reads what files contain; [`FlowFiles::answer`] reads their rows once, those columns and parts that the questions
//! need, in the order of time as far as the files tell it, and answers each question for each node.
//!
//! [`levels::Shelf`] finds the files of a store that answer a question, rollups where these are exact.
//!
//! The crate does not know text of queries, options and packets.
#![forbid(unsafe_code)]

mod answering;
mod facts;
mod file_times;
mod files;
pub mod levels;
mod node_spans;
mod prune;
mod question;
pub mod replay;
mod shares;
mod totals;
mod unknown;
mod whole;

pub use answering::{ScanProgress, ScanSummary};
pub use facts::{count_at_end, part_of};
pub use files::FlowFiles;
pub use question::{AnswerSetting, Period, Question, QuestionError, RunsOn};
