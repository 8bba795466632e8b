//! Answers, windows, reports and states as people read them on a terminal: lines, and aligned tables.
//!
//! The crate knows `model`'s data alone: neither how they were computed nor where they are printed.
//!
//! ```
//! use model::{Answer, Column, ColumnKind, Value};
//!
//! let columns = vec![Column::new("dst_port", ColumnKind::Unsigned, ""), Column::new("n", ColumnKind::Unsigned, "packets")];
//! let rows = vec![vec![Value::Unsigned(443), Value::Unsigned(1_234_567)]];
//! let text = terminal::answer(&Answer::new("q", None, columns, rows), None, 10);
//! assert!(text.contains("1,234,567"), "{text}");
//! ```
#![forbid(unsafe_code)]

mod answer;
mod cell;
mod fitting;
mod head;
mod layout;
mod node;
mod paper;
mod protocol;
mod run_report;
mod series;
mod table;
#[cfg(test)]
mod tests;
mod time;

pub use answer::{answer, answer_on};
pub use cell::item_text;
pub use fitting::fitting;
pub use flow::protocol_name;
pub use head::{account, sources, table_full, tcp_loss, traffic_of_run, traffic_of_window};
pub use layout::is_head;
pub use node::{named_node_cells, node_state, nodes, site, status_lines};
pub use paper::Paper;
pub use run_report::{
    BY_FLOW, answers, nodes_report, run_report, stories, undecided, window_answers, window_report,
};
pub use series::Series;
pub use table::{cut, figure_table, text_table};
pub use time::{moment, when};
