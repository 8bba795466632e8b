//! What the programs print, as rows of named cells.

use serde_json::Value;
use std::collections::HashMap;
use std::net::IpAddr;

/// Cells by the name of their column.
pub(crate) type Row = HashMap<String, String>;

/// How a program prints its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Commas, names in the first line, up to an empty line or a summary: nfdump.
    Named,
    /// Commas without names: columns are `1`, `2`, …
    Commas,
    /// The same, where the first four are address and port of both ends: `conversation` too.
    Ends,
    /// Blanks: columns are `1`, `2`, … Lines of as many words only.
    Words(usize),
    /// `uniq -c`: `count` and the columns behind it, which are 0 where there are none.
    Counted,
    /// tshark's `conv`: for each direction `src`, `dst`, `packets`; `conversation` and `both`.
    Conversations,
    /// tshark's `io,stat`: `#`, `packets`, `bytes`.
    Intervals,
}

fn numbered<'a>(cells: impl Iterator<Item = &'a str>) -> Row {
    cells.zip(1..).map(|(cell, number)| (number.to_string(), normal(cell))).collect()
}

fn named<const N: usize>(cells: [(&str, &str); N]) -> Row {
    cells.into_iter().map(|(name, cell)| (name.to_owned(), normal(cell))).collect()
}

/// The same text for the same value.
pub(crate) fn normal(cell: &str) -> String {
    let cell = cell.trim();
    let protocols = [("icmp", "1"), ("tcp", "6"), ("udp", "17"), ("ipv6-icmp", "58"), ("icmp6", "58")];
    let lower = cell.to_ascii_lowercase();
    if let Some((_, number)) = protocols.iter().find(|(name, _)| *name == lower) {
        return (*number).to_owned();
    }
    if let Some(number) = lower.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return number.to_string();
    }
    if cell.contains('.') && cell.parse::<f64>().is_ok() {
        return cell.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    // A network is told by its address.
    let address = cell.split('/').next().unwrap_or_default();
    address.parse::<IpAddr>().map_or_else(|_| cell.to_owned(), |address| address.to_string())
}

/// A conversation, in whatever order its ends are.
pub(crate) fn conversation(one: &str, other: &str) -> String {
    let mut ends = [one, other].map(|end| end.trim().replace(['[', ']'], ""));
    ends.sort();
    ends.join(" <-> ")
}

/// The rows of a program's output.
pub(crate) fn rows(shape: Shape, output: &str) -> Vec<Row> {
    match shape {
        Shape::Named => {
            let mut lines = output.lines();
            let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
            let lines = lines.take_while(|line| line.contains(',') && !line.starts_with("Summary"));
            let row =
                |line: &str| names.iter().map(ToString::to_string).zip(line.split(',').map(normal)).collect();
            lines.map(row).collect()
        }
        Shape::Commas => figures(output).map(|cells| numbered(cells.into_iter())).collect(),
        Shape::Ends => {
            let row = |cells: Vec<&str>| {
                let [from, from_port, to, to_port, ..] = cells[..] else { panic!("no ends: {cells:?}") };
                let ends = conversation(&format!("{from}:{from_port}"), &format!("{to}:{to_port}"));
                let mut row = numbered(cells.into_iter());
                row.insert("conversation".to_owned(), ends);
                row
            };
            figures(output).map(row).collect()
        }
        Shape::Words(number) => {
            let lines = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            lines.filter(|words| words.len() == number).map(|words| numbered(words.into_iter())).collect()
        }
        Shape::Counted => {
            let row = |line: &str| {
                let mut words = line.split_whitespace();
                let count = words.next().unwrap_or_default().to_owned();
                let mut row = numbered(words);
                row.entry("1".to_owned()).or_insert("0".to_owned());
                row.insert("count".to_owned(), count);
                row
            };
            output.lines().map(row).collect()
        }
        Shape::Conversations => output.lines().flat_map(directions).collect(),
        Shape::Intervals => {
            let lines = output.lines().filter(|line| line.contains("<>"));
            let row = |(line, number): (&str, u32)| {
                let cells: Vec<&str> = line.split('|').collect();
                named([("#", &number.to_string()), ("packets", cells[2]), ("bytes", cells[3])])
            };
            lines.zip(0..).map(row).collect()
        }
    }
}

/// The cells of lines that end with a number: headings do not.
fn figures(output: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = output.lines().map(|line| line.split(',').collect::<Vec<_>>());
    lines.filter(|cells| cells.last().is_some_and(|cell| cell.trim().parse::<f64>().is_ok()))
}

/// Both directions of a line such as `A <-> B  3 1 kB  4 2 kB  7 3 kB  0.0 1.0`.
fn directions(line: &str) -> Vec<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [one, "<->", other, back, _, _, there, _, _, both, ..] = words[..] else { return Vec::new() };
    let conversation = conversation(one, other);
    let row = |src, dst, packets| {
        named([
            ("src", src),
            ("dst", dst),
            ("packets", packets),
            ("conversation", &conversation),
            ("both", both),
        ])
    };
    let directions = [row(one, other, there), row(other, one, back)];
    directions.into_iter().filter(|row| row["packets"] != "0").collect()
}

/// The rows of Edison's answers, and how many groups there are in all. `#` is the answer's number.
pub(crate) fn answers(answers: &[Value]) -> (Vec<Row>, usize) {
    let (mut rows, mut groups) = (Vec::new(), 0);
    for (answer, number) in answers.iter().zip(0..) {
        let of_answer = answer["rows"].as_array().expect("rows");
        groups += of_answer.len() + answer["rest"]["groups"].as_u64().expect("a number") as usize;
        rows.extend(of_answer.iter().map(|row| {
            let cells = row.as_object().expect("an object").iter();
            let mut row: Row = cells.map(|(name, value)| (name.clone(), cell(name, value))).collect();
            row.insert("#".to_owned(), format!("{number}"));
            row
        }));
    }
    (rows, groups)
}

fn cell(name: &str, value: &Value) -> String {
    match value {
        // What is absent is 0 in other programs.
        Value::Null => "0".to_owned(),
        Value::String(text) if name == "conversation" => {
            let ends = text.rsplit_once(' ').map_or(text.as_str(), |(ends, _)| ends);
            let (one, other) = ends.split_once(" <-> ").expect("two ends");
            conversation(one, other)
        }
        // A time, as capinfos has it: seconds, nine places.
        Value::String(text) if text.ends_with('Z') => {
            let time = crate::support::output::time(value);
            normal(&format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000))
        }
        Value::String(text) => normal(text),
        Value::Number(number) if number.is_f64() => {
            normal(&format!("{:.9}", number.as_f64().expect("a number")))
        }
        other => other.to_string(),
    }
}
