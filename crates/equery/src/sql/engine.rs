//! The statement that an engine is asked: rows of files in, one line of plain values for each row of the answer out.

use super::Dialect;
use super::answer::Statement;
use super::rows::{self, RowPart, union};
use super::{RowTable, SqlStep, joined, seconds, steps_before};
use model::{Column, ColumnKind};
use task::query::{Condition, Expression, Grouping, MOST_GROUPS, Over, Query};

/// A column that an engine is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineColumn {
    /// The name of the column in what the engine returns.
    pub name: String,
    /// The columns, where the value is of the heaviest values, of how many values there are and what they weigh together.
    pub of_all: Option<[String; 2]>,
    /// The column of the total of all groups, where the value is a total.
    pub total: Option<String>,
}

/// The statement that is sent to an engine, and the columns of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSql {
    /// The statement.
    pub statement: String,
    /// A column for each of the answer.
    pub columns: Vec<EngineColumn>,
}

impl EngineSql {
    /// The column of the begin of the window, microseconds since the epoch.
    pub const START: &str = "window_us";
    /// The column of the node.
    pub const NODE: &str = "node";
    /// The column of the number of rows that the engine returns.
    pub const ROWS: &str = "rows_of_all";
    /// The column of the number of groups of the window and node, those of the answer and others.
    pub const GROUPS: &str = "groups_of_all";
}

/// The statement that answers a query from parts of a store. `columns`: those of the answer. `watched`: the time that the rows cover, nanoseconds since the epoch.
///
/// # Errors
/// Returns one line if the engine cannot be told the name of a file.
pub fn engine_sql(
    query: &Query,
    key: &[String],
    parts: &[RowPart],
    columns: &[Column],
    watched: [u64; 2],
    dialect: Dialect,
) -> Result<EngineSql, String> {
    // Rows have its ends, and not the text that a condition compares.
    let is_compared = |condition: &Condition| reads(condition, "conversation");
    if query.filter.iter().chain(&query.having).any(is_compared) {
        return Err(format!(
            "{}: no other engine knows conversations as texts: compare addresses and ports, or leave out --engine",
            query.name
        ));
    }
    let is_of_texts = |order: &task::query::Order| is_read(&order.by, "conversation");
    if query.order.iter().any(is_of_texts) {
        return Err(format!(
            "{}: no other engine orders conversations as texts: order by addresses and ports, or leave out --engine",
            query.name
        ));
    }
    let named = RowTable { name: "", key, base_window_ns: None, dialect };
    let rows = union(query, &named, parts)?;
    let table = RowTable { name: "stored", ..named };
    let seconds = match query.over {
        Over::Windows { over_ns, .. } => watched_seconds(dialect, over_ns, watched),
        Over::Run => {
            let seconds = watched[1].saturating_sub(watched[0]) as f64 / 1e9;
            format!("nullif({}, 0)", dialect.float(seconds))
        }
        Over::Window => seconds(query.over, &table),
    };
    let statement =
        Statement { query, seconds, dialect, key: rows::keys(&table).collect(), has_own_names: true };
    let stored = SqlStep {
        step: "read the files".to_owned(),
        name: Some("stored".to_owned()),
        sql: format!("  SELECT * FROM {rows} AS parts"),
    };
    let mut steps = vec![stored];
    steps.extend(steps_before(query, &table, &statement));
    if has_windows(query) {
        steps.push(SqlStep {
            step: "list the windows that have rows".to_owned(),
            name: Some("windows".to_owned()),
            sql: "  SELECT window_start, node_id FROM merged GROUP BY window_start, node_id".to_owned(),
        });
    }
    let outputs: Vec<EngineColumn> = (1..)
        .zip(&query.columns)
        .map(|(at, item)| {
            let aggregate = if let Expression::Aggregate(of) = &item.value { Some(of) } else { None };
            let is_top = aggregate.is_some_and(|of| of.meaning().heaviest().is_some());
            let is_total =
                query.group != Grouping::All && aggregate.is_some_and(|of| of.meaning().is_total());
            EngineColumn {
                name: format!("c{at}"),
                of_all: is_top.then(|| [format!("c{at}_values"), format!("c{at}_weight")]),
                total: is_total.then(|| format!("c{at}_total")),
            }
        })
        .collect();
    let last = SqlStep { step: statement.purpose(), name: None, sql: last(&statement, columns, &outputs) };
    steps.push(last);
    Ok(EngineSql { statement: joined(&steps), columns: outputs })
}

/// The part of a window that is watched, in seconds.
fn watched_seconds(dialect: Dialect, over_ns: u64, [from, to]: [u64; 2]) -> String {
    let start = format!("{} * 1000", dialect.micros("selected.window_start"));
    format!(
        "nullif((least({start} + {over_ns}, {to}) - greatest({start}, {from})) / {}, 0)",
        dialect.float(1e9)
    )
}

/// The last step: values as any engine writes them alike.
fn last(statement: &Statement<'_>, columns: &[Column], outputs: &[EngineColumn]) -> String {
    let (query, dialect) = (statement.query, statement.dialect);
    let mut more = String::new();
    let mut counted =
        vec![format!("count(*) OVER (PARTITION BY window_start, node_id) AS {}", EngineSql::GROUPS)];
    let of = if has_windows(query) { "windows." } else { "" };
    let mut shown = vec![
        (dialect.micros(&format!("{of}window_start")), EngineSql::START),
        (format!("{of}node_id"), EngineSql::NODE),
        (EngineSql::GROUPS.to_owned(), EngineSql::GROUPS),
        ("count(*) OVER ()".to_owned(), EngineSql::ROWS),
    ];
    for (at, ((item, column), output)) in query.columns.iter().zip(columns).zip(outputs).enumerate() {
        let name = statement.name(at);
        let value = match column.kind {
            ColumnKind::Address | ColumnKind::Prefix => format!("hex({name})"),
            _ => name.clone(),
        };
        shown.push((value, &output.name));
        if let (Some([values, weight]), Expression::Aggregate(of)) = (&output.of_all, &item.value) {
            for (output, side) in [(values, "number"), (weight, "total")] {
                let value = statement.side_column(of, side).unwrap_or_else(|| "NULL".to_owned());
                more.push_str(&format!(", {value} AS {output}"));
                shown.push((output.clone(), output));
            }
        }
        if let Some(total) = &output.total {
            counted.push(format!("sum({name}) OVER (PARTITION BY window_start, node_id) AS {total}"));
            shown.push((total.clone(), total));
        }
    }
    let limit = match query.group {
        Grouping::All => None,
        _ => Some(format!("answer_place <= {}", query.limit.unwrap_or(MOST_GROUPS))),
    };
    let counted = format!(
        "(\n  SELECT *, {}\n  FROM (\n{}\n  ) AS placed\n) AS counted",
        counted.join(", "),
        statement.placed(&more)
    );
    let (from, limit) = match has_windows(query) {
        false => (counted, limit),
        true => (
            format!(
                "windows\nLEFT JOIN {counted} ON windows.window_start = counted.window_start AND windows.node_id = counted.node_id"
            ),
            limit.map(|limit| format!("answer_place IS NULL OR {limit}")),
        ),
    };
    let filter = limit.map(|limit| format!("\nWHERE {limit}")).unwrap_or_default();
    format!(
        "SELECT {}\nFROM {from}{filter}\nORDER BY {of}window_start, {of}node_id, answer_place{}",
        dialect.line(&shown),
        dialect.ending()
    )
}

/// Returns true if windows that have rows may have no group, and are asked for too.
fn has_windows(query: &Query) -> bool {
    let may_have_none = query.filter.is_some() || query.having.is_some() || query.limit == Some(0);
    may_have_none && matches!(query.over, Over::Windows { .. })
}

/// Returns true if a condition reads a field by this name.
fn reads(condition: &Condition, name: &str) -> bool {
    let value = |value: &Expression| is_read(value, name);
    match condition {
        Condition::And(of) | Condition::Or(of) => of.iter().any(|condition| reads(condition, name)),
        Condition::Not(of) => reads(of, name),
        Condition::Compare(left, _, right) => value(left) || value(right),
        Condition::In(of, list) => value(of) || list.iter().any(value),
        Condition::InPrefixes(field, _) | Condition::Like(field, _) => field == name,
        Condition::IsNull(of) => value(of),
    }
}

fn is_read(value: &Expression, name: &str) -> bool {
    match value {
        Expression::Field(field) => field == name,
        Expression::Arithmetic(left, _, right) => is_read(left, name) || is_read(right, name),
        _ => false,
    }
}
