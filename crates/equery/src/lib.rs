//! Equery, the language of queries over traffic: from text to a checked plan.
//!
//! [`check()`] reads a text, resolves names, converts units, removes nodes, and returns plans for
//! [`task::query`] together with everything that is wrong in the text, each with its place. Nothing here executes a query.
//!
//! ```text
//! text ─▶ tokens ─▶ tree ─▶ names, types, units ─▶ plan
//! ```
//!
//! ```
//! use equery::{CheckOptions, SourceText, check};
//! use task::query::{Grouping, GroupField};
//!
//! let text = "q1: select count(src_addr), dst_addr groupby dst_addr where node_id=NodeX;";
//! let checked = check(&SourceText { name: "query", text }, &CheckOptions::default());
//! assert!(!checked.has_errors());
//! let query = &checked.queries[0];
//! assert_eq!(query.plan.group, Grouping::By(vec![GroupField::from_field("dst_addr")]));
//! assert!(query.nodes.matches("NodeX") && !query.nodes.matches("NodeY"));
//! ```
#![forbid(unsafe_code)]

mod ast;
mod canonical;
mod chain;
mod check;
mod checked;
mod checker;
mod constant;
mod continuous;
mod diagnostic;
mod display;
mod earlier;
mod executor;
mod explain;
mod fields;
mod graph;
mod habits;
mod kind;
mod language;
mod lexer;
mod literal;
mod memory;
mod names;
mod node_filter;
mod options;
mod parents;
mod parser;
mod render;
#[cfg(feature = "schema")]
mod schema;
mod sketch;
mod source;
mod sql;
mod sql_length;
mod variables;
mod whole_flows;
mod word;

pub use chain::{Chain, ChainSite};
pub use check::check;
pub use checked::{
    CheckedColumn, CheckedQuery, CheckedText, EdgeKind, EventCondition, EventEdge, EventGraph, FieldBinding,
    FiringClauses, HistoryRange, NotRun, ReadParts, SaidPart, TimePoint, TriggerClause,
};
pub use diagnostic::{Diagnostic, Severity};
pub use earlier::{EarlierReference, EarlierWindows};
pub use executor::{columns as answer_columns, merging};
pub use explain::{ExplainContext, Explanation, QueryExplanation, explain};
pub use kind::{Unit, ValueKind};
pub use language::{FieldWord, Language, language};
pub use node_filter::NodeFilter;
pub use options::{CheckOptions, QueryItems};
pub use render::{excerpt, name_taken, one_line, render};
pub use sketch::Sketch;
pub use source::SourceText;
pub use sql::{
    Dialect, EngineColumn, EngineSql, RowPart, RowTable, SqlStep, engine_sql, joined as joined_sql, sql,
    sql_steps,
};
pub use task::query::Across;
pub use word::Word;

#[cfg(test)]
mod tests;
