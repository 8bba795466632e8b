//! Queries over window rows: filter, group, aggregate, order, limit.
//!
//! A [`RowQuery`] is what was requested. [`RowQueries::plan`] prepares a set of them for the rows of a
//! [`Site`]. Blocks of rows go into the [`RowPartials`] of their window, which merge with those of other
//! cores and nodes, and produce the answers when the window is over. Queries over the whole run read
//! [`RunPartials`], in which a flow is one row.
//!
//! ```text
//! rows ─▶ batch (columns) ─▶ filter ─▶ group ─▶ state ─▶ order, limit ─▶ answer
//! ```

mod answer;
mod batch;
mod executor;
mod keyed;
mod merged;
mod order;
mod partitioned;
mod plan;
mod predicate;
mod query;
mod refusal;
mod site;
mod state;
#[cfg(test)]
mod tests;
mod top_rows;

pub use answer::Unplaced;
pub use executor::{RowPartials, RowQueries, RowScratch, RunPartials};
pub use query::{
    Aggregate, Comparison, GroupField, Item, Literal, MOST_GROUPS, Order, Over, Predicate, RowQuery,
};
pub use refusal::Refusal;
pub use site::Site;
pub use state::MOST_DISTINCT;
