//! Answers queries over window rows: filter, group, aggregate, restrict, order, limit.
//!
//! [`RowQueries::plan`] prepares a set of [queries](crate::query) for the rows of a [`PlanContext`]. Blocks of rows go into the
//! [`RowPartials`] of their window, which merge with those of other cores and nodes, and produce the answers when the window is over.
//! Queries over the whole run read [`RunPartials`], in which a flow is one row; queries over windows of other lengths are
//! [`LongWindows`]'.
//!
//! ```text
//! rows ─▶ batch (columns) ─▶ program (arrays) ─▶ filter ─▶ group ─▶ state ─▶ having, order, limit ─▶ answer
//! ```

mod across;
pub(crate) mod aggregates;
mod answer;
mod evaluate;
mod executor;
mod filter;
mod group_value;
mod group_view;
mod grouping;
mod input;
mod key_filter;
mod keyed;
mod long_windows;
mod member;
mod merged;
mod needed;
mod order;
mod outside;
mod overflow;
mod owners;
mod partitioned;
mod plan;
mod plan_set;
mod predicate;
mod program;
mod recorded;
mod sampled;
mod samples;
mod scalar;
mod scratch;
mod state;
#[cfg(test)]
mod tests;
mod top_rows;
mod untold;
mod update;
mod values;
mod watched_span;
mod weights;
mod window_account;

pub use crate::plan_context::{CountingOffer, PacketFieldPolicy, PlanContext, ZoomOffer};
pub use crate::row_refusal::{Refusal, advice_of_all_flows};
pub use across::{Merging, OF_SAMPLES};
pub use executor::{RowPartials, RowQueries, RunPartials};
pub(crate) use filter::RowFilter;
pub use key_filter::KeyFilter;
pub use long_windows::{LongWindows, late_rows, mark_lost};
pub use outside::{Outside, Unplaced};
pub use overflow::{Overflow, OverflowCounter};
pub use recorded::{RecordedNeeds, RecordedRows};
pub use scratch::RowScratch;
pub use values::MOST_DISTINCT;
pub use window_account::WindowAccount;
