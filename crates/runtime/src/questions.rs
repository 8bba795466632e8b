//! The questions of a run: texts of queries and their short forms, and the queries that the program asks by itself.

pub mod asked;
pub mod continuous;
pub mod facts;
pub mod history_asked;
pub mod over_rows;
pub mod periods;
pub mod query_text;
pub mod requested_dry_run;
mod sketches;
