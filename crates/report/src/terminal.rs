//! Answers, windows and reports as people read them: lines, and aligned tables.

mod answer;
mod cell;
mod fitting;
mod head;
mod layout;
mod node;
mod number;
mod protocol;
mod report;
mod series;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod totals;

pub use answer::{answer, answer_within};
pub use cell::item_text;
pub use fitting::fitting;
pub use flow::protocol_name;
pub use head::{account, sources, table_full, tcp_loss, traffic_of_run, traffic_of_window};
pub use layout::{is_head, is_own_query};
pub use node::{named_node_cells, node_state, nodes, status_lines};
pub use notation::grouped;
pub use report::{
    BY_FLOW, answers, nodes_report, run_report, stories, undecided, window_answers, window_report,
};
pub use series::Series;
pub use table::{cut, text_table};
pub use time::{how_long, moment, when};
pub use totals::Totals;
