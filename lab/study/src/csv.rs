//! Rows as CSV (RFC 4180), and back.

use crate::row::FigureRow;
use serde_json::Value;
use std::collections::BTreeSet;

/// The beginning of the note of a row that stands for a point without a result.
pub(crate) const NOT_MEASURED: &str = "not measured: ";

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

/// Reads what [`csv()`] writes.
///
/// # Errors
/// One line: what is wrong, and in which row.
pub(crate) fn parsed(text: &str) -> Result<Vec<FigureRow>, String> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading = reader.headers().map_err(|error| error.to_string())?.clone();
    let names: Vec<&str> = heading.iter().collect();
    let ["series", columns @ .., "checked", "note"] = names.as_slice() else {
        return Err(
            "line 1: the first column is not 'series', or the last ones are not 'checked' and 'note'"
                .to_owned(),
        );
    };
    // Both parts are in alphabetical order: values begin where it begins again. Where it does not, a column may be of either, and its numbers are
    // taken for both: text is a parameter.
    let first_value = columns.windows(2).position(|pair| pair[1] <= pair[0]).map(|at| at + 1);
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string().replace('\n', " "))?;
        let number = rows.len() + 1;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let mut row = FigureRow { series: cell(0).to_owned(), ..FigureRow::default() };
        for (at, name) in columns.iter().enumerate() {
            let text = cell(at + 1);
            if text.is_empty() {
                continue;
            }
            if first_value.is_none_or(|first| at < first) {
                let number = text.parse::<serde_json::Number>().map(Value::Number);
                row.params.insert((*name).to_owned(), number.unwrap_or_else(|_| text.into()));
            }
            if first_value.is_none_or(|first| at >= first) {
                match (text.parse(), first_value) {
                    (Ok(value), _) => drop(row.values.insert((*name).to_owned(), value)),
                    (Err(_), None) => {}
                    (Err(_), Some(_)) => return Err(format!("row {number}: {name} is no number: '{text}'")),
                }
            }
        }
        row.checked = match cell(columns.len() + 1) {
            "" => None,
            text => Some(text.parse().map_err(|_| format!("row {number}: checked is '{text}'"))?),
        };
        row.note = Some(cell(columns.len() + 2)).filter(|note| !note.is_empty()).map(str::to_owned);
        rows.push(row);
    }
    Ok(rows)
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

    #[test]
    fn what_was_written_is_read_back() {
        let row = |series: &str, name: &str, value: f64| FigureRow {
            series: series.to_owned(),
            values: [(name.to_owned(), value)].into(),
            checked: Some(true),
            ..FigureRow::default()
        };
        let rows = vec![
            row("a, \"b\"", "mpps", 1.5).with("mpps", 14.88).with("rate", "10Gbps"),
            row("c", "ns", 2e-9).with("size", 4).with("zipf", 1.0),
            FigureRow { note: Some(format!("{NOT_MEASURED}two\nlines")), ..FigureRow::default() },
        ];
        assert_eq!(parsed(&csv(&rows)).expect("rows"), rows);
        assert_eq!(parsed(&csv(&rows[2..])).expect("a row"), rows[2..]);
        // The order does not tell the parameter from the value.
        let clients = row("a", "megabits", 1.5).with("clients", 20);
        let read = parsed(&csv(&[clients])).expect("a row");
        assert_eq!((read[0].param("clients"), read[0].value("megabits")), (20.0, 1.5));
        let design = row("a", "ns", 1.5).with("design", "rss");
        let read = parsed(&csv(&[design])).expect("text is a parameter");
        assert_eq!((&read[0].params["design"], read[0].value("ns")), (&"rss".into(), 1.5));
        assert!(!read[0].values.contains_key("design"));
    }

    #[test]
    fn what_is_no_row_is_told_with_its_line() {
        for (text, told) in [
            ("a,b\r\n", "line 1: the first column is not 'series'"),
            ("series,size,ns,checked,note\r\na,1,x,true,\r\n", "row 1: ns is no number: 'x'"),
            ("series,size,ns,checked,note\r\na,1,2,perhaps,\r\n", "row 1: checked is 'perhaps'"),
            ("series,size,ns,checked,note\r\na,1\r\n", "2 fields"),
        ] {
            let error = parsed(text).expect_err(text);
            assert!(error.contains(told) && !error.contains('\n'), "{error}");
        }
    }
}
