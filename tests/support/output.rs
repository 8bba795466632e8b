//! What the program wrote: flow records, reports, windows.

use super::capture::{Count, Flows, Key};
use serde_json::Value;
use std::path::Path;

/// A line of a CSV file with the default fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record {
    /// `None` in the record `other`.
    pub(crate) key: Option<Key>,
    pub(crate) stime: u64,
    pub(crate) ltime: u64,
    pub(crate) packets: u64,
    pub(crate) total_byte: u64,
    pub(crate) end_reason: String,
}

/// The records of a CSV file.
pub(crate) fn records(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse_records(&text)
}

/// The records of the whole lines of a CSV text.
pub(crate) fn parse_records(text: &str) -> Vec<Record> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    let Some(header) = lines.next() else { return Vec::new() };
    let header: Vec<&str> = header.split(',').collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), header.len(), "{line}");
            let cell = |name: &str| cells[header.iter().position(|it| *it == name).expect("a default field")];
            let number =
                |name: &str| cell(name).parse::<u64>().unwrap_or_else(|_| panic!("{name} in {line}"));
            let address = |name: &str| cell(name).parse().unwrap_or_else(|_| panic!("{name} in {line}"));
            let key = (!cell("src_addr").is_empty()).then(|| {
                let port = |name| u16::try_from(number(name)).expect("a port");
                let protocol = u8::try_from(number("protocol")).expect("a protocol");
                (address("src_addr"), address("dst_addr"), protocol, port("src_port"), port("dst_port"))
            });
            Record {
                key,
                stime: number("stime"),
                ltime: number("ltime"),
                packets: number("total_count"),
                total_byte: number("total_byte"),
                end_reason: cell("end_reason").to_owned(),
            }
        })
        .collect()
}

/// Packets and bytes per key; each key may come once only.
pub(crate) fn one_record_per_key(records: &[Record]) -> Flows {
    let mut flows = Flows::new();
    for record in records {
        let key = record.key.expect("no record `other`");
        let count = Count { packets: record.packets, total_byte: record.total_byte };
        assert_eq!(flows.insert(key, count), None, "{key:?} has two records");
    }
    flows
}

/// A report whose frames add up: times as nanoseconds, and each answer of `answers` as a [`table`].
pub(crate) fn report(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut report: Value = serde_json::from_str(&text).expect("JSON");
    for name in ["started", "ended"] {
        report[name] = time(&report[name]);
    }
    tables(&mut report["answers"]);
    conserves(&report);
    report
}

/// The windows that `--json` printed, without runs of empty ones. Each has its answers together as [`table`]s, and the members of
/// the answer `totals`, which begins it; its frames add up.
pub(crate) fn windows<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    let mut windows: Vec<Value> = Vec::new();
    for line in lines {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if answer["empty"].is_null() && answer["query"] == "totals" {
            let mut window = answer.clone();
            window["answers"] = Value::Array(Vec::new());
            for span in ["window", "watched"] {
                if !window[span].is_null() {
                    window[span] = serde_json::json!({"start": time(&window[span]["start"]), "end": time(&window[span]["end"])});
                }
            }
            windows.push(window);
        }
        if answer["empty"].is_null() {
            let answers = windows.last_mut().expect("totals come first")["answers"].as_array_mut();
            answers.expect("a list").push(answer);
        }
    }
    for window in &mut windows {
        tables(&mut window["answers"]);
        // The last one may be on its way still, but its first line is whole.
        conserves(window);
    }
    windows
}

/// Runs of empty windows that `--json` printed: their number and time.
pub(crate) fn empty_windows(lines: &str) -> Vec<(u64, Value, Value)> {
    let answers = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let empty = answers.filter(|answer| !answer["empty"].is_null());
    empty
        .map(|run| (number(&run["empty"]), time(&run["window"]["start"]), time(&run["window"]["end"])))
        .collect()
}

/// A time in nanoseconds since the epoch.
fn time(value: &Value) -> Value {
    value.as_str().and_then(report::parse_time).map_or(Value::Null, Value::from)
}

fn tables(answers: &mut Value) {
    for answer in answers.as_array_mut().expect("a list of answers") {
        *answer = table(answer);
    }
}

/// An answer as a table: the names of its columns, and its rows as lists. An estimate takes three columns, the last two of which are
/// named `lower` and `upper`.
fn table(answer: &Value) -> Value {
    let columns = answer["columns"].as_array().expect("columns");
    let is_estimate = |column: &Value| column["kind"] == "estimate";
    let names = columns.iter().flat_map(|column| match is_estimate(column) {
        true => vec![column["name"].clone(), "lower".into(), "upper".into()],
        false => vec![column["name"].clone()],
    });
    let rows = answer["rows"].as_array().expect("rows").iter().map(|row| {
        assert_eq!(row.as_object().expect("an object").len(), columns.len(), "{row}");
        let cells = columns.iter().flat_map(|column| {
            let cell = &row[column["name"].as_str().expect("a name")];
            match is_estimate(column) {
                true => ["value", "lower", "upper"].map(|part| cell[part].clone()).to_vec(),
                false => vec![cell.clone()],
            }
        });
        Value::Array(cells.collect())
    });
    let (names, rows): (Vec<_>, Vec<_>) = (names.collect(), rows.collect());
    let mut table = answer.clone();
    (table["columns"], table["rows"]) = (names.into(), rows.into());
    table
}

fn conserves(report: &Value) {
    let packets = &report["packets"];
    let sum = number(&packets["measured"]) + total(&packets["not_measured"]);
    assert_eq!(number(&packets["received"]), sum, "{packets}");
    assert_eq!(number(&row(report, "totals")[0][0]), number(&packets["measured"]), "{packets}");
}

/// An integer, which is a string where it is large.
pub(crate) fn number(value: &Value) -> u64 {
    let from_text = || value.as_str().and_then(|text| text.parse().ok());
    value.as_u64().or_else(from_text).unwrap_or_else(|| panic!("{value} is no integer"))
}

/// The sum of an object's counters; 0 for null.
pub(crate) fn total(counters: &Value) -> u64 {
    counters.as_object().map_or(0, |counters| counters.values().map(number).sum())
}

/// The answer of a query.
pub(crate) fn answer<'a>(report: &'a Value, query: &str) -> &'a Value {
    let answers = report["answers"].as_array().expect("a list");
    answers.iter().find(|it| it["query"] == query).unwrap_or_else(|| panic!("no answer of {query}"))
}

/// The rows of a query.
pub(crate) fn row<'a>(report: &'a Value, query: &str) -> &'a [Value] {
    answer(report, query)["rows"].as_array().expect("a list")
}

/// Key and counts of a row of `top_bytes` or `top_packets`.
pub(crate) fn ranked_flow(row: &Value) -> (Key, Count) {
    let address = |at: usize| row[at].as_str().and_then(|text| text.parse().ok()).expect("an address");
    let small = |at: usize| u16::try_from(number(&row[at])).expect("16 bits");
    let key = (address(0), address(1), u8::try_from(small(2)).expect("8 bits"), small(3), small(4));
    (key, Count { packets: number(&row[5]), total_byte: number(&row[6]) })
}
