//! Answers of one query as a table.

use model::{Answer, ColumnKind, Value, format_time};
use serde_json::{Value as Json, json};

/// The columns that each row begins with.
const BEGIN: [&str; 5] = ["node", "window_start", "window_end", "status", "coverage"];

/// A column, which other answers may have at another place.
struct CsvColumn<'a> {
    name: &'a str,
    /// True if the column has bounds, in columns of their own.
    is_estimate: bool,
}

/// Writes the rows of answers. The columns are those of all answers, in the order in which they first come.
pub(super) fn write(answers: &[Answer]) -> Result<Vec<u8>, String> {
    write_all(answers).map_err(|error| error.to_string())
}

fn write_all(answers: &[Answer]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let columns = columns(answers);
    // What firings pinned tells instances of a query apart.
    let has_bound = answers.iter().any(|answer| !answer.bound.is_empty());
    let mut table = csv::Writer::from_writer(Vec::new());
    for name in BEGIN {
        table.write_field(name)?;
    }
    if has_bound {
        table.write_field("bound")?;
    }
    for column in &columns {
        table.write_field(column.name)?;
        if column.is_estimate {
            table.write_field(format!("{}_lower", column.name))?;
            table.write_field(format!("{}_upper", column.name))?;
        }
    }
    end_row(&mut table)?;
    for answer in answers {
        let begin = begin(answer)?;
        for row in 0..answer.rows.len() {
            for cell in &begin {
                table.write_field(cell)?;
            }
            if has_bound {
                table.write_field(pinned(answer))?;
            }
            for column in &columns {
                write_value(&mut table, answer.value(row, column.name), column.is_estimate)?;
            }
            end_row(&mut table)?;
        }
    }
    Ok(table.into_inner()?)
}

fn columns(answers: &[Answer]) -> Vec<CsvColumn<'_>> {
    let mut columns: Vec<CsvColumn<'_>> = Vec::new();
    for answer in answers {
        for (at, column) in answer.columns.iter().enumerate() {
            let is_estimate = column.kind == ColumnKind::Estimate
                || answer.rows.iter().any(|row| matches!(row.get(at), Some(Value::Estimate { .. })));
            match columns.iter_mut().find(|known| known.name == column.name) {
                Some(known) => known.is_estimate |= is_estimate,
                None => columns.push(CsvColumn { name: &column.name, is_estimate }),
            }
        }
    }
    columns
}

/// Returns the cells that each row of an answer begins with.
fn begin(answer: &Answer) -> serde_json::Result<[String; 5]> {
    let time = |ns: Option<u64>| ns.map(format_time).unwrap_or_default();
    Ok([
        answer.node.clone().unwrap_or_default(),
        time(answer.window.map(|window| window.start_ns)),
        time(answer.window.map(|window| window.end_ns)),
        cell(&serde_json::to_value(answer.status)?),
        cell(&serde_json::to_value(answer.coverage)?),
    ])
}

/// Returns what a firing pinned, as JSON; empty if nothing is.
fn pinned(answer: &Answer) -> String {
    let members = answer.bound.iter().map(|item| (item.column.name.clone(), json!(item.value)));
    match answer.bound.is_empty() {
        true => String::new(),
        false => Json::Object(members.collect()).to_string(),
    }
}

fn write_value(
    table: &mut csv::Writer<Vec<u8>>,
    value: Option<&Value>,
    has_bounds: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let json = serde_json::to_value(value)?;
    match (has_bounds, value) {
        (false, _) => table.write_field(cell(&json))?,
        (true, Some(Value::Estimate { .. })) => {
            for member in ["value", "lower", "upper"] {
                table.write_field(cell(&json[member]))?;
            }
        }
        // What is no estimate is its own bounds.
        (true, _) => {
            for _ in 0..3 {
                table.write_field(cell(&json))?;
            }
        }
    }
    Ok(())
}

/// A value as JSON has it; of a text what it says.
fn cell(json: &Json) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn end_row(table: &mut csv::Writer<Vec<u8>>) -> csv::Result<()> {
    table.write_record(None::<&[u8]>)
}
