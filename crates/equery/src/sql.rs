//! Plans as SQL over the table of window rows (`edison run --rows`), in the dialect of an engine.
//!
//! Made from the plan, never from the text, so that it shows what is computed. Addresses are 16 bytes, IPv4 as `::ffff:0:0/96`.

mod answer;
mod engine;
mod expressions;
mod rows;

pub use engine::{EngineColumn, EngineSql, engine_sql};
pub use rows::RowPart;
pub use task::Dialect;

use answer::Statement;
use task::query::{Condition, Expression, Over, Query};

/// The rows that a query reads.
#[derive(Clone, Copy, Debug)]
pub struct RowTable<'a> {
    /// The table, as it stands in `FROM`.
    pub name: &'a str,
    /// The fields of the flow key.
    pub key: &'a [String],
    /// The length of its windows, if known.
    pub base_window_ns: Option<u64>,
    /// The dialect of the SQL.
    pub dialect: Dialect,
}

/// A step of a query as SQL.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SqlStep {
    /// The effect of the step.
    pub step: String,
    /// The name of its result, which later steps read; the last one has none.
    pub name: Option<String>,
    /// The SQL of the step.
    pub sql: String,
}

/// A query as one statement.
pub fn sql(query: &Query, table: &RowTable<'_>) -> String {
    format!("{};\n", joined(&sql_steps(query, table)))
}

/// Steps as one statement, without its end.
pub fn joined(steps: &[SqlStep]) -> String {
    let named: Vec<_> = steps
        .iter()
        .filter_map(|step| Some(format!("{} AS (\n{}\n)", step.name.as_ref()?, step.sql)))
        .collect();
    let last = steps.last().map(|step| step.sql.as_str()).unwrap_or_default();
    format!("WITH {}\n{last}", named.join(", "))
}

/// A query step by step.
pub fn sql_steps(query: &Query, table: &RowTable<'_>) -> Vec<SqlStep> {
    let statement = Statement {
        query,
        seconds: seconds(query.over, table),
        dialect: table.dialect,
        key: rows::keys(table).collect(),
        has_own_names: false,
    };
    let mut steps = steps_before(query, table, &statement);
    steps.push(SqlStep { step: statement.purpose(), name: None, sql: statement.answer() });
    steps
}

/// The steps before the last one.
fn steps_before(query: &Query, table: &RowTable<'_>, statement: &Statement<'_>) -> Vec<SqlStep> {
    let mut steps = Vec::new();
    let mut read = table.name;
    let mut add = |step: &str, name: &'static str, sql: String| {
        steps.push(SqlStep { step: step.to_owned(), name: Some(name.to_owned()), sql });
        name
    };
    if query.over != Over::Window {
        let sql = rows::merged(query, table);
        read = add("merge the rows of each flow over the query's window", "merged", sql);
    } else if table.dialect.has_own_numbers() {
        read = add("read numbers without sign", "numbers", rows::numbers(query, table));
    }
    add("filter rows", "selected", statement.selected(read));
    statement.side_steps(&mut steps);
    steps
}

/// The filter of rows.
pub(crate) fn condition_text(of: &Condition) -> String {
    expressions::condition(Dialect::default(), of)
}

/// Returns a statement for people: values by the names of columns.
fn for_people(query: &Query) -> Statement<'_> {
    Statement {
        query,
        seconds: "seconds".to_owned(),
        dialect: Dialect::default(),
        key: Vec::new(),
        has_own_names: false,
    }
}

/// A condition on groups, with their fields by name.
pub(crate) fn group_condition_text(query: &Query, of: &Condition) -> String {
    let statement = for_people(query);
    let value = |value: &Expression| statement.plain_value(value);
    expressions::condition_with(statement.dialect, of, &|name| name.to_owned(), &value)
}

/// Returns the order of groups as text, with their fields by name.
pub(crate) fn order_text(query: &Query) -> String {
    let statement = for_people(query);
    let text = |order: &task::query::Order| {
        format!("{}{}", statement.plain_value(&order.by), if order.descending { " desc" } else { "" })
    };
    query.order.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The length of a window in seconds, as SQL.
fn seconds(over: Over, table: &RowTable<'_>) -> String {
    let seconds = |ns: u64| table.dialect.float(ns as f64 / 1e9);
    match over {
        Over::Windows { over_ns, .. } => seconds(over_ns),
        Over::Window => table.base_window_ns.map_or("$window_seconds".to_owned(), seconds),
        Over::Run => "$run_seconds".to_owned(),
    }
}
