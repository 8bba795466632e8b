//! What the program wrote: flow records, reports, windows.

use super::capture::{Count, Flows, Key};
use serde_json::Value;
use std::collections::BTreeSet;
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

/// A report whose frames add up.
pub(crate) fn report(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let report: Value = serde_json::from_str(&text).expect("JSON");
    conserves(&report["packets"], &of_run(&report, "totals")["rows"][0]);
    list(&report["answers"]).iter().for_each(check_rows);
    report
}

/// The answer of a query over the whole run.
pub(crate) fn of_run<'a>(report: &'a Value, query: &str) -> &'a Value {
    let mut answers = list(&report["answers"]).iter();
    let is_it = |it: &&Value| it["query"] == query && it["window"].is_null();
    answers.find(is_it).unwrap_or_else(|| panic!("no answer of {query}"))
}

/// The lines of one window, which has frames or was watched.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Empty windows between the one before and this one.
    pub(crate) empty_before: u64,
    /// In the order of the lines.
    pub(crate) answers: Vec<Value>,
}

impl Window {
    /// The answer of a query.
    pub(crate) fn answer(&self, query: &str) -> &Value {
        self.answers_of(query).next().unwrap_or_else(|| panic!("no answer of {query}"))
    }

    /// The answers of queries of the same name.
    pub(crate) fn answers_of<'a, 'q>(
        &'a self,
        query: &'q str,
    ) -> impl Iterator<Item = &'a Value> + use<'a, 'q> {
        self.answers.iter().filter(move |answer| answer["query"] == query)
    }

    /// Its frames.
    pub(crate) fn packets(&self) -> &Value {
        &self.answer("totals")["packets"]
    }
}

/// What `--json` printed in a whole run, by window, as [`windows_so_far`] reads it.
pub(crate) fn windows<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Window> {
    let (windows, empty) = read_windows(lines);
    assert_eq!(empty, None, "a run does not end with empty windows");
    windows
}

/// What `--json` has printed of a run that goes on, by window; the frames of each add up, its answers agree about what they
/// are of, and windows without frames fill the time between two others.
pub(crate) fn windows_so_far<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Window> {
    read_windows(lines).0
}

/// The windows, and the line of empty ones that stands behind them, which the next window ends.
fn read_windows<'a>(lines: impl IntoIterator<Item = &'a str>) -> (Vec<Window>, Option<Value>) {
    let mut windows: Vec<Window> = Vec::new();
    let mut empty: Option<Value> = None;
    for line in lines {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        check_rows(&answer);
        if !answer["empty"].is_null() {
            assert_eq!(
                (&answer["query"], &answer["status"]),
                (&"totals".into(), &"complete".into()),
                "{line}"
            );
            assert!(list(&answer["rows"]).is_empty() && empty.is_none(), "{line}");
            empty = Some(answer);
            continue;
        }
        let (start, end) = (time(&answer["window"]["start"]), time(&answer["window"]["end"]));
        if answer["query"] == "totals" {
            let empty_before = empty.take().map_or(0, |empty| {
                let before = windows.last().expect("a run does not begin with empty windows").end;
                let span = (time(&empty["window"]["start"]), time(&empty["window"]["end"]));
                assert_eq!(span, (before, start), "{line}");
                number(&empty["empty"])
            });
            conserves(&answer["packets"], &answer["rows"][0]);
            windows.push(Window { start, end, empty_before, answers: Vec::new() });
        }
        assert_eq!(empty, None, "it begins with its totals");
        let window = windows.last_mut().expect("a window begins with its totals");
        assert_eq!((start, end), (window.start, window.end), "{line}");
        let totals = window.answers.first().unwrap_or(&answer);
        for same in ["node", "window", "watched", "coverage"] {
            assert!(answer[same] == totals[same] || answer["status"] == "partial", "{same} of {line}");
        }
        window.answers.push(answer);
    }
    (windows, empty)
}

fn conserves(packets: &Value, totals: &Value) {
    let sum = number(&packets["measured"]) + total(&packets["not_measured"]);
    assert_eq!(number(&packets["received"]), sum, "{packets}");
    // Of a sample it is an estimate of all packets.
    if !totals["total_count"].is_object() {
        assert_eq!(number(&totals["total_count"]), number(&packets["measured"]), "{packets}");
    }
}

/// Each row has the members that the columns name.
fn check_rows(answer: &Value) {
    let columns: BTreeSet<_> =
        list(&answer["columns"]).iter().map(|column| column["name"].as_str().expect("a name")).collect();
    for row in list(&answer["rows"]) {
        let members: BTreeSet<_> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(members, columns, "{answer}");
    }
}

/// The items of a list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// The rows of an answer.
pub(crate) fn rows(answer: &Value) -> &[Value] {
    list(&answer["rows"])
}

/// An integer, which is a string where it is large.
pub(crate) fn number(value: &Value) -> u64 {
    let from_text = || value.as_str().and_then(|text| text.parse().ok());
    value.as_u64().or_else(from_text).unwrap_or_else(|| panic!("{value} is no integer"))
}

/// The value of an estimate, which lies between its bounds.
pub(crate) fn estimate(value: &Value) -> f64 {
    let part = |name: &str| value[name].as_f64();
    let figure = part("value").unwrap_or_else(|| panic!("{value} is no estimate"));
    let is_within = part("lower").is_none_or(|lower| lower <= figure)
        && part("upper").is_none_or(|upper| figure <= upper);
    assert!(is_within, "{value}");
    figure
}

/// Nanoseconds since the epoch of `2026-11-24T15:40:02.000000001Z`.
pub(crate) fn time(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no time"));
    let is_whole = text.len() == 30 && text.ends_with('Z');
    assert!(is_whole, "{text} has no nanoseconds or is not UTC");
    let part = |at: usize, length: usize| -> u64 {
        text[at..at + length].parse().unwrap_or_else(|_| panic!("{text} is no time"))
    };
    let (year, month, day) = (part(0, 4), part(5, 2), part(8, 2));
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let of_years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let months = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30];
    let days = of_years + months[..month as usize - 1].iter().sum::<u64>() + day - 1;
    let seconds = ((days * 24 + part(11, 2)) * 60 + part(14, 2)) * 60 + part(17, 2);
    seconds * 1_000_000_000 + part(20, 9)
}

/// Sums of floating point numbers depend on the order of rows in their last digits.
pub(crate) fn round(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(members) => members.values_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            *value = Value::String(format!("{:.10e}", number.as_f64().expect("a number")));
        }
        _ => {}
    }
}

/// The sum of an object's counters; 0 for null.
pub(crate) fn total(counters: &Value) -> u64 {
    counters.as_object().map_or(0, |counters| counters.values().map(number).sum())
}

/// The flow of a row, by the members of the 5-tuple.
pub(crate) fn flow(row: &Value) -> Key {
    let address = |name: &str| row[name].as_str().and_then(|text| text.parse().ok()).expect("an address");
    let small = |name: &str| u16::try_from(number(&row[name])).expect("16 bits");
    let protocol = u8::try_from(small("protocol")).expect("8 bits");
    (address("src_addr"), address("dst_addr"), protocol, small("src_port"), small("dst_port"))
}

/// Packets and bytes of a row, or of what an answer has no rows for.
pub(crate) fn count(row: &Value) -> Count {
    Count { packets: number(&row["total_count"]), total_byte: number(&row["total_byte"]) }
}
