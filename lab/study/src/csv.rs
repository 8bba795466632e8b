//! Rows as CSV (RFC 4180).

use crate::row::FigureRow;
use serde_json::Value;
use std::collections::BTreeSet;

/// A heading, and a line for each row: series, parameters, values, whether the answer was right, notes. A cell without a value is empty.
pub(crate) fn csv(rows: &[FigureRow]) -> String {
    let (params, values) = columns(rows);
    let heading = ["series"].into_iter().chain(params.iter().copied()).chain(values.iter().copied());
    let mut text = record(heading.chain(["checked", "note"]).map(str::to_owned));
    for row in rows {
        text.push_str(&record(cells(row, &params, &values)));
    }
    text
}

/// The names of all parameters and of all values.
pub(crate) fn columns(rows: &[FigureRow]) -> (Vec<&str>, Vec<&str>) {
    let params: BTreeSet<_> = rows.iter().flat_map(|row| row.params.keys().map(String::as_str)).collect();
    let values: BTreeSet<_> = rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    (params.into_iter().collect(), values.into_iter().collect())
}

/// The cells of a row under these columns.
pub(crate) fn cells(row: &FigureRow, params: &[&str], values: &[&str]) -> Vec<String> {
    let param = |name: &&str| match row.params.get(*name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let value = |name: &&str| row.values.get(*name).map_or(String::new(), f64::to_string);
    let checked = row.checked.map_or(String::new(), |checked| checked.to_string());
    [row.series.clone()]
        .into_iter()
        .chain(params.iter().map(param))
        .chain(values.iter().map(value))
        .chain([checked, row.note.clone().unwrap_or_default()])
        .collect()
}

fn record(cells: impl IntoIterator<Item = String>) -> String {
    cells.into_iter().map(|cell| quoted(&cell)).collect::<Vec<_>>().join(",") + "\r\n"
}

/// Writes a cell, in quotes if it has to be.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_there_and_cells_are_quoted() {
        let first = FigureRow {
            series: "a, \"b\"".to_owned(),
            values: [("ns".to_owned(), 1.5)].into(),
            checked: Some(true),
            ..FigureRow::default().with("size", 4)
        };
        let second =
            FigureRow { series: "c".to_owned(), note: Some("two\nlines".to_owned()), ..FigureRow::default() };
        assert_eq!(
            csv(&[first, second.with("kind", "x")]),
            "series,kind,size,ns,checked,note\r\n\"a, \"\"b\"\"\",,4,1.5,true,\r\nc,x,,,,\"two\nlines\"\r\n"
        );
    }
}
