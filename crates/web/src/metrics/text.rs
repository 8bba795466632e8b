//! The text format of Prometheus, version 0.0.4.
//!
//! It is written by hand: it is three kinds of lines, and the crates that write it keep registries of counters, which the hub's state is
//! not.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use std::hash::BuildHasher;
use std::ops::Range;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Series of one family. The others are counted.
pub(crate) const MOST_SERIES: usize = 50_000;
/// Characters of a label's value. What is longer is cut.
const MOST_CHARS: usize = 200;

/// The type of a family.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MetricType {
    /// A value that falls only when it begins anew.
    Counter,
    /// A value of any other kind.
    Gauge,
}

/// Families, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Text {
    out: String,
    left_out: u64,
}

impl Text {
    /// Begins a family. Without a sample, nothing of it is written.
    pub(crate) fn family<'a>(
        &'a mut self,
        name: &'static str,
        kind: MetricType,
        help: &'static str,
    ) -> MetricFamily<'a> {
        MetricFamily { text: self, name, kind, help, series: HashMap::new() }
    }

    /// Returns the whole text, with how many series are not there.
    pub(crate) fn end(mut self) -> String {
        let left_out = self.left_out;
        let help = "Series that are not here, because their family has too many or has their labels already.";
        self.family("edison_series_left_out", MetricType::Gauge, help).count(&[], left_out);
        self.out
    }
}

/// Samples of one name.
#[derive(Debug)]
pub(crate) struct MetricFamily<'a> {
    text: &'a mut Text,
    name: &'static str,
    kind: MetricType,
    help: &'static str,
    /// The places of the labels of its series, by a hash of them or, where another one has that, one of the next numbers.
    series: HashMap<u64, Range<usize>>,
}

impl MetricFamily<'_> {
    /// Adds a line whose value is a whole number.
    pub(crate) fn count(&mut self, labels: &[(&str, &str)], count: u64) {
        if self.begin(labels) {
            // Writing to a text does not fail.
            let _ = writeln!(self.text.out, " {count}");
        }
    }

    /// Adds a line whose value is a number. What is not finite is not known, and not there.
    pub(crate) fn number(&mut self, labels: &[(&str, &str)], number: f64) {
        if number.is_finite() && self.begin(labels) {
            let _ = writeln!(self.text.out, " {number}");
        }
    }

    /// Adds a line whose value is 1 or 0.
    pub(crate) fn flag(&mut self, labels: &[(&str, &str)], is_set: bool) {
        self.count(labels, is_set.into());
    }

    /// Begins a line, unless the family is full or has these labels.
    fn begin(&mut self, labels: &[(&str, &str)]) -> bool {
        if self.series.len() >= MOST_SERIES {
            self.text.left_out += 1;
            return false;
        }
        let (out, name) = (&mut self.text.out, self.name);
        if self.series.is_empty() {
            let kind = match self.kind {
                MetricType::Counter => "counter",
                MetricType::Gauge => "gauge",
            };
            let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", self.help);
        }
        let line = out.len();
        out.push_str(name);
        let begin = out.len();
        write_labels(out, labels);
        let own = begin..out.len();
        let mut hash = self.series.hasher().hash_one(&out[own.clone()]);
        loop {
            match self.series.entry(hash) {
                Entry::Vacant(place) => {
                    place.insert(own);
                    return true;
                }
                Entry::Occupied(other) if out[other.get().clone()] == out[own.clone()] => {
                    out.truncate(line);
                    self.text.left_out += 1;
                    return false;
                }
                Entry::Occupied(_) => hash = hash.wrapping_add(1),
            }
        }
    }
}

/// Writes `{name="value",…}`, or nothing. An empty value is the same as none.
fn write_labels(out: &mut String, labels: &[(&str, &str)]) {
    let mut before = '{';
    for (name, value) in labels.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(before);
        out.push_str(name);
        out.push_str("=\"");
        escape(out, value);
        out.push('"');
        before = ',';
    }
    if before == ',' {
        out.push('}');
    }
}

/// Writes a label's value. Control characters other than a newline have no escape: U+FFFD takes their place.
fn escape(out: &mut String, value: &str) {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'\\' && byte != b'"';
    if value.len() <= MOST_CHARS && value.bytes().all(is_plain) {
        return out.push_str(value);
    }
    for (number, letter) in value.chars().enumerate() {
        match letter {
            _ if number == MOST_CHARS => return out.push('…'),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            _ if letter.is_control() => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_bounded_and_its_labels_are_unique() {
        let mut text = Text::default();
        let mut family = text.family("a_total", MetricType::Counter, "All.");
        for number in 0..MOST_SERIES + 7 {
            family.count(&[("n", &number.to_string())], 1);
        }
        let mut family = text.family("b", MetricType::Gauge, "Some.");
        family.count(&[("n", "x\ty")], 1);
        family.count(&[("n", "x\u{1}y")], 2);
        family.number(&[], f64::NAN);
        family.number(&[("n", "")], f64::INFINITY);
        family.number(&[("n", "")], 0.25);
        text.family("c", MetricType::Gauge, "None.");
        let text = text.end();
        assert_eq!(text.lines().filter(|line| line.starts_with("a_total{")).count(), MOST_SERIES);
        let rest: Vec<_> = text.lines().skip(MOST_SERIES + 2).collect();
        let expected = ["# HELP b Some.", "# TYPE b gauge", "b{n=\"x\u{fffd}y\"} 1", "b 0.25"];
        assert_eq!(rest[..4], expected);
        assert_eq!(*rest.last().expect("a line"), "edison_series_left_out 8");
    }
}
