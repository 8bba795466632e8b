//! Answers, windows and reports as people read them: lines, and aligned tables.

mod answer;
mod cell;
mod head;
mod layout;
mod live;
mod number;
mod protocol;
mod report;
mod series;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod totals;

pub use answer::answer;
pub use flow::protocol_name;
pub use layout::is_own_query;
pub use live::{FirstWindow, Now, live_view};
pub use notation::grouped;
pub use report::{BY_FLOW, answers, nodes_report, run_report, stories, window_answers, window_report};
pub use series::Series;
pub use table::text_table;
pub use time::how_long;
pub use totals::Totals;
