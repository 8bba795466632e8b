//! The latest answers of `export as metric` queries.

use super::text::{MetricFamily, MetricType, Text};
use crate::view::QueryView;
use model::{Answer, AnswerStatus, Column, Value};
use notation::label_name;
use std::collections::BTreeMap;

/// Keys of a query and node that are exported: the first rows of its latest answers.
pub(crate) const MOST_KEYS: usize = 20;
/// Labels that mean something else.
const TAKEN: [&str; 7] = ["query", "node", "column", "unit", "job", "instance", "le"];

pub(super) fn write(text: &mut Text, queries: &[QueryView]) {
    let exported: Vec<_> =
        queries.iter().filter(|query| query.metric).flat_map(ExportedAnswers::from_query).collect();
    for (name, help, bound) in [
        (
            "edison_query_value",
            "Numbers of the latest answers of queries with 'export as metric'.",
            EstimatePart::Value,
        ),
        (
            "edison_query_lower",
            "Of a number that is estimated: it is not less than this.",
            EstimatePart::Lower,
        ),
        (
            "edison_query_upper",
            "Of a number that is estimated: it is not more than this.",
            EstimatePart::Upper,
        ),
    ] {
        let mut family = text.family(name, MetricType::Gauge, help);
        exported.iter().for_each(|exported| exported.write_rows(&mut family, bound));
    }
    let mut each = |name, help, value: fn(&ExportedAnswers<'_>) -> Option<f64>| {
        let mut family = text.family(name, MetricType::Gauge, help);
        for exported in &exported {
            if let Some(number) = value(exported) {
                family.number(&exported.labels(), number);
            }
        }
    };
    each("edison_query_keys_left_out", "Keys of the latest answers that are not exported.", |exported| {
        Some(exported.left_out as f64)
    });
    each(
        "edison_query_answer_complete",
        "1 where the latest answers are complete, 0 where they lack something.",
        |exported| {
            let is_complete = exported.answers.iter().all(|answer| answer.status == AnswerStatus::Complete);
            Some(f64::from(u8::from(is_complete)))
        },
    );
    each(
        "edison_query_answer_coverage_ratio",
        "The least coverage of the latest answers, where it is known.",
        |exported| {
            let coverage = exported.answers.iter().map(|answer| answer.coverage);
            coverage.reduce(|own, other| Some(own?.min(other?))).flatten()
        },
    );
    each(
        "edison_query_window_end_timestamp_seconds",
        "The end of the window of the latest answers, since the epoch.",
        |exported| Some(exported.answers.first()?.window?.end_ns as f64 / 1e9),
    );
}

/// The number of a value that is exported: the value or one of its bounds.
#[derive(Clone, Copy, Debug)]
enum EstimatePart {
    Value,
    Lower,
    Upper,
}

/// The latest answers of a query and node: one, or those of its instances.
struct ExportedAnswers<'a> {
    query: &'a QueryView,
    node: &'a str,
    answers: Vec<&'a Answer>,
    left_out: u64,
}

impl<'a> ExportedAnswers<'a> {
    fn from_query(query: &'a QueryView) -> Vec<Self> {
        let mut of_node: BTreeMap<&str, Vec<&Answer>> = BTreeMap::new();
        for answer in &query.latest {
            of_node.entry(answer.node.as_deref().unwrap_or_default()).or_default().push(answer);
        }
        let exported = |(node, answers): (&'a str, Vec<&'a Answer>)| {
            let rows: usize = answers.iter().map(|answer| answer.rows.len()).sum();
            let rest = answers.iter().fold(0_u64, |rest, answer| rest.saturating_add(answer.rest.groups));
            let left_out = rest.saturating_add(rows.saturating_sub(MOST_KEYS) as u64);
            Self { query, node, answers, left_out }
        };
        of_node.into_iter().map(exported).collect()
    }

    fn labels(&self) -> [(&str, &str); 2] {
        [("query", &self.query.name), ("node", self.node)]
    }

    fn is_key(&self, column: &Column) -> bool {
        self.query.key.contains(&column.name)
    }

    fn write_rows(&self, family: &mut MetricFamily<'_>, bound: EstimatePart) {
        let rows = self.answers.iter().flat_map(|answer| answer.rows.iter().map(move |row| (answer, row)));
        for (answer, row) in rows.take(MOST_KEYS) {
            let key = self.key(answer, row);
            for (column, value) in answer.columns.iter().zip(row).filter(|(column, _)| !self.is_key(column)) {
                let Some(number) = number(value, bound) else { continue };
                let (divisor, unit) = base_unit(&column.unit);
                let mut labels = Vec::from(self.labels());
                labels.extend([("column", column.name.as_str()), ("unit", unit)]);
                labels.extend(key.iter().map(|(name, value)| (name.as_str(), value.as_str())));
                match number {
                    SampleValue::Whole(count) if divisor == 1.0 => family.count(&labels, count),
                    SampleValue::Whole(count) => family.number(&labels, count as f64 / divisor),
                    SampleValue::Real(number) => family.number(&labels, number / divisor),
                }
            }
        }
    }

    /// The labels of a row: what its instance has pinned, and the members of its key. Their names differ.
    fn key(&self, answer: &Answer, row: &[Value]) -> Vec<(String, String)> {
        let mut labels: Vec<(String, String)> = Vec::new();
        let mut add = |prefix: &str, column: &Column, value: &Value| {
            let mut name = format!("{prefix}{}", label_name(&column.name));
            let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic());
            if !is_plain || TAKEN.contains(&name.as_str()) {
                name = format!("key_{name}");
            }
            while labels.iter().any(|(own, _)| *own == name) {
                name.push('_');
            }
            labels.push((name, label_value(value)));
        };
        for item in &answer.bound {
            add("pinned_", &item.column, &item.value);
        }
        for (column, value) in answer.columns.iter().zip(row).filter(|(column, _)| self.is_key(column)) {
            add("", column, value);
        }
        labels
    }
}

/// A number as it is known: whole ones are written with all digits.
enum SampleValue {
    Whole(u64),
    Real(f64),
}

/// The number of a value; bounds are those of estimates.
fn number(value: &Value, bound: EstimatePart) -> Option<SampleValue> {
    match (value, bound) {
        (Value::Unsigned(number), EstimatePart::Value) => Some(SampleValue::Whole(*number)),
        (Value::Signed(number), EstimatePart::Value) => Some(SampleValue::Real(*number as f64)),
        (Value::Float(number), EstimatePart::Value) => Some(SampleValue::Real(*number)),
        (Value::Estimate { value, .. }, EstimatePart::Value) => Some(SampleValue::Real(*value)),
        (Value::Estimate { lower, .. }, EstimatePart::Lower) => Some(SampleValue::Real(*lower)),
        (Value::Estimate { upper, .. }, EstimatePart::Upper) => Some(SampleValue::Real(*upper)),
        _ => None,
    }
}

/// Returns by what to divide a number of this unit, and the unit that it then has: Prometheus has times in seconds.
fn base_unit(unit: &str) -> (f64, &str) {
    match unit {
        "ns" => (1e9, "seconds"),
        other => (1.0, other),
    }
}

/// A value as JSON has it; of a text what it says, of null nothing.
fn label_value(value: &Value) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Null) | Err(_) => String::new(),
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
    }
}
