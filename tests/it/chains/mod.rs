//! Queries that start others (`when`), over one node and over several (`NAME=SOURCE`): events, the windows in which queries run,
//! stories and reports (`docs/equery.md`, "Events").
#![allow(clippy::single_range_in_vec_init, reason = "windows are ranges of seconds")]

mod base_windows;
mod chained;
mod conditions;
mod deadlines;
mod dry_runs;
mod each_window;
mod empty_windows;
mod instances;
mod locate;
mod missing;
mod nodes;
mod papers;
mod refusals;
mod second_reading;
mod several_parents;
mod standing;
mod titles;
