//! The first steps: which rows are read, and rows of one key merged over longer windows.

use super::Dialect;
use super::RowTable;
use super::expressions;
use std::path::PathBuf;
use task::query::{Over, Query};

/// Files of rows, of which those are read that count in a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPart {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The times from which and before which the windows of rows begin, nanoseconds since the epoch.
    pub times: [u64; 2],
}

/// The fields of a flow key, without lengths of prefixes.
pub(super) fn keys<'a>(table: &RowTable<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    table.key.iter().map(|part| part.split('/').next().unwrap_or(part))
}

/// The fields of rows that a query reads, without those of the key.
fn values(query: &Query, table: &RowTable<'_>) -> Vec<&'static flow::Field> {
    use flow::Aggregation::{Constant, Key, Same};
    let read = query.fields();
    // Rows without packets have no part in what all packets have.
    let needs_packets =
        flow::FIELDS.iter().any(|field| field.aggregation == Same && read.contains(field.name));
    // What the flow key lacks is in no row.
    let is_value = |field: &&flow::Field| {
        (read.contains(field.name) || needs_packets && field.row == flow::RowValue::Packets)
            && !matches!(field.aggregation, Constant | Key)
            && !keys(table).any(|key| key == field.name)
    };
    flow::FIELDS.iter().filter(is_value).collect()
}

/// A column as one to calculate with.
fn number(dialect: Dialect, field: &flow::Field, column: &str) -> String {
    match field.value {
        flow::FieldAccessor::Unsigned(..) | flow::FieldAccessor::Optional(..) => dialect.number(column),
        _ => column.to_owned(),
    }
}

/// The columns of rows that a query reads, as a list: those of every row, the key's, and fields as `value` has them.
fn columns(query: &Query, table: &RowTable<'_>, value: &dyn Fn(&flow::Field) -> String) -> String {
    let keys = keys(table).map(|key| table.dialect.identifier(key));
    let values = values(query, table).into_iter().map(value);
    let always = ["window_start", "node_id", "ip_version"].map(str::to_owned);
    always.into_iter().chain(keys).chain(values).collect::<Vec<_>>().join(", ")
}

/// Parts of several files as a table.
pub(super) fn union(query: &Query, table: &RowTable<'_>, parts: &[RowPart]) -> Result<String, String> {
    let dialect = table.dialect;
    let columns = columns(query, table, &|field| expressions::column(dialect, field.name));
    let one = |part: &RowPart| {
        let micros = dialect.micros("window_start");
        let [from, to] = part.times.map(|ns| ns.div_ceil(1000));
        let after = (from != 0).then(|| format!("{micros} >= {from}"));
        let before = (part.times[1] != u64::MAX).then(|| format!("{micros} < {to}"));
        let both: Vec<_> = after.into_iter().chain(before).collect();
        let filter = if both.is_empty() { String::new() } else { format!(" WHERE {}", both.join(" AND ")) };
        let of_files = |table: String| format!("SELECT {columns} FROM {table}{filter}");
        Ok(dialect.files(&part.files)?.into_iter().map(of_files).collect::<Vec<_>>())
    };
    let parts: Result<Vec<Vec<String>>, String> = parts.iter().map(one).collect();
    Ok(format!("(\n    {}\n  )", parts?.concat().join("\n    UNION ALL ")))
}

/// The columns that a query reads, their numbers as such to calculate with.
pub(super) fn numbers(query: &Query, table: &RowTable<'_>) -> String {
    let dialect = table.dialect;
    let columns = columns(query, table, &|field| {
        let column = expressions::column(dialect, field.name);
        format!("{} AS {column}", number(dialect, field, &column))
    });
    format!("  SELECT {columns}\n  FROM {}", table.name)
}

/// Rows of one key and node, merged over longer windows.
pub(super) fn merged(query: &Query, table: &RowTable<'_>) -> String {
    let dialect = table.dialect;
    let micros = dialect.micros("rows.window_start");
    let (start, windows) = match query.over {
        Over::Windows { every_ns, over_ns } => {
            let every = every_ns / 1000;
            let pane = format!("{micros} - {micros} % {every}");
            match over_ns / every_ns.max(1) {
                0 | 1 => (dialect.time(&pane), String::new()),
                steps => {
                    let shifted = format!("{pane} - shifts.shift * {every}");
                    (dialect.time(&shifted), format!(", {}", dialect.series(steps)))
                }
            }
        }
        Over::Window => ("rows.window_start".to_owned(), String::new()),
        // One window, whenever its flows begin.
        Over::Run => (dialect.time("0"), String::new()),
    };
    let own = ["node_id", "ip_version"].map(str::to_owned).into_iter();
    let own: Vec<_> = own.chain(keys(table).map(|key| dialect.identifier(key))).collect();
    let columns = own.iter().map(|column| format!(", rows.{column} AS {column}")).collect::<String>();
    let values: String = values(query, table)
        .into_iter()
        .filter_map(|field| merged_value(dialect, field))
        .map(|value| format!(",\n    {value}"))
        .collect();
    let mut grouped: Vec<_> = own.iter().map(|column| format!("rows.{column}")).collect();
    if query.over != Over::Run {
        grouped.insert(0, start.clone());
    }
    format!(
        "  SELECT {start} AS window_start{columns}{values}\n  FROM {} AS rows{windows}\n  GROUP BY {}",
        table.name,
        grouped.join(", ")
    )
}

/// Returns the SQL that merges the values of a field, `None` for a field that is not merged.
fn merged_value(dialect: Dialect, field: &flow::Field) -> Option<String> {
    use flow::Aggregation::{Constant, First, Key, Last, Max, Mean, Min, Or, Same, Sum};
    let name = expressions::column(dialect, field.name);
    let column = number(dialect, field, &format!("rows.{name}"));
    let value = match field.aggregation {
        // Rows that were collected may lack them: less than all is no total.
        Sum if field.name == "wire_byte" => {
            format!("CASE WHEN count({column}) = count(*) THEN sum({column}) END")
        }
        Sum => format!("sum({column})"),
        Min => format!("min({column})"),
        Max => format!("max({column})"),
        Or => dialect.bit_or(&column),
        // A row with packets that has none has packets that differ.
        Same => {
            let with_packets = "count(CASE WHEN rows.total_count <> 0 THEN 1 END)";
            format!(
                "CASE WHEN count({column}) = {with_packets} AND min({column}) = max({column}) THEN min({column}) END"
            )
        }
        Mean => format!("avg({column})"),
        First => dialect.at_end(&column, "rows.window_start", false),
        Last => dialect.at_end(&column, "rows.window_start", true),
        Constant | Key => return None,
    };
    Some(format!("{value} AS {name}"))
}
