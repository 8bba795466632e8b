//! What is asked: texts of queries and their short forms, and the queries that the program asks by itself.

pub(crate) mod asked;
pub(crate) mod facts;
pub(crate) mod history_asked;
pub(crate) mod over_rows;
pub(crate) mod periods;
pub(crate) mod query_text;
pub(crate) mod rehearsing;
mod sketches;
pub(crate) mod standing;
