//! Answers, windows and reports as people read them: lines, and aligned tables.

mod answer;
mod cell;
mod head;
mod layout;
mod number;
mod period;
mod protocol;
mod report;
mod table;
#[cfg(test)]
mod tests;
mod totals;

pub use answer::answer;
pub use flow::protocol_name;
pub use notation::grouped;
pub use report::{run_report, window_answers, window_report};
pub use table::text_table;
pub use totals::Totals;
