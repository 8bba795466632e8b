//! The results of measurements, as rows of named values.

use bench::BenchResult;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The result of one variant at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FigureRow {
    /// The structure, design or program.
    pub series: String,
    /// The parameters by name.
    pub params: BTreeMap<String, Value>,
    /// The measured values, by a name that ends in the unit. Of `x`, the least and the most of all rounds are `x_least` and `x_most`.
    pub values: BTreeMap<String, f64>,
    /// True if the answer was compared with the truth and agreed; `None` where nothing was run: a prediction.
    pub checked: Option<bool>,
    /// The remark that has to be made of the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl FigureRow {
    /// A bench's line: all its numbers, and `_least` and `_most` of its spreads. `instead` and `refused` are notes.
    pub fn from_line(line: &BenchResult) -> Self {
        let Value::Object(members) = line.json() else { return Self::default() };
        let mut row = Self { series: line.variant.clone(), ..Self::default() };
        for (name, value) in members {
            match (name.as_str(), value) {
                ("params", Value::Object(params)) => row.params.extend(params),
                ("checked", value) => row.checked = value.as_bool(),
                ("spread_ns", value) => row.put_spread("ns_per_packet", &value),
                ("instead" | "refused" | "fault", Value::String(text)) => row.note = Some(text),
                (name, Value::Number(number)) => {
                    row.values.extend(number.as_f64().map(|number| (name.to_owned(), number)));
                }
                (name, Value::Bool(flag)) => {
                    row.values.insert(name.to_owned(), f64::from(u8::from(flag)));
                }
                (name, value @ Value::Array(_)) => {
                    if let Some(of) = name.strip_suffix("_spread") {
                        row.put_spread(of, &value);
                    }
                }
                _ => {}
            }
        }
        row
    }

    fn put_spread(&mut self, of: &str, spread: &Value) {
        for (at, end) in ["least", "most"].into_iter().enumerate() {
            self.values.extend(spread[at].as_f64().map(|value| (format!("{of}_{end}"), value)));
        }
    }

    /// A value; `NaN` if it was not measured.
    pub fn value(&self, name: &str) -> f64 {
        self.values.get(name).copied().unwrap_or(f64::NAN)
    }

    /// A numeric parameter; `NaN` if there is none.
    pub fn param(&self, name: &str) -> f64 {
        self.params.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    /// Returns the least and the most of a value, if they were measured.
    pub fn spread(&self, name: &str) -> Option<[f64; 2]> {
        let end = |name: &str, end: &str| self.values.get(&format!("{name}_{end}")).copied();
        match (end(name, "least"), end(name, "most")) {
            (Some(least), Some(most)) => Some([least, most]),
            // The rate of the slowest round, and of the fastest.
            _ if name == "mpps" => ["most", "least"]
                .map(|of| Some(1000.0 / end("ns_per_packet", of)?))
                .into_iter()
                .collect::<Option<Vec<_>>>()
                .and_then(|ends| ends.try_into().ok()),
            _ => None,
        }
    }

    /// The row with another parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }
}

/// The rows of a figure, in the order of its points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureRows(pub Vec<FigureRow>);

impl FigureRows {
    /// Returns the rows of one series.
    pub fn rows_of_series<'a>(&'a self, series: &'a str) -> impl Iterator<Item = &'a FigureRow> {
        self.0.iter().filter(move |row| row.series == series)
    }

    /// The row of a series where a numeric parameter has this value.
    pub fn at(&self, series: &str, param: &str, value: f64) -> Option<&FigureRow> {
        self.0.iter().find(|row| row.series == series && row.param(param) == value)
    }

    /// Returns the rows whose numeric parameter has this value.
    #[must_use]
    pub fn only(&self, param: &str, value: f64) -> Self {
        Self(self.0.iter().filter(|row| row.param(param) == value).cloned().collect())
    }

    /// `value` of one series divided by that of another, where `param` is the same: pairs of the parameter and the ratio.
    pub fn ratios(&self, of: &str, by: &str, param: &str, value: &str) -> Vec<(f64, f64)> {
        let ratio = |row: &FigureRow| {
            let other = self.at(by, param, row.param(param))?;
            Some((row.param(param), row.value(value) / other.value(value)))
        };
        self.rows_of_series(of).filter_map(ratio).filter(|(_, ratio)| ratio.is_finite()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_becomes_a_row() {
        let line = BenchResult {
            bench: "model",
            variant: "heap".to_owned(),
            params: vec![("bytes", json!(1024)), ("entry", json!("counter"))],
            packets: 10,
            rounds_ns: vec![100.0, 300.0, 200.0],
            memory_bytes: None,
            checked: true,
            more: vec![("p95_ns", json!(40.5)), ("f1", json!(0.9)), ("f1_spread", json!([0.8, 1.0]))],
        };
        let row = FigureRow::from_line(&line);
        assert_eq!((row.series.as_str(), row.param("bytes"), row.checked), ("heap", 1024.0, Some(true)));
        assert_eq!((row.value("ns_per_packet"), row.value("p95_ns")), (20.0, 40.5));
        assert_eq!(row.spread("ns_per_packet"), Some([10.0, 30.0]));
        assert_eq!(row.spread("f1"), Some([0.8, 1.0]));
        assert_eq!(row.spread("p95_ns"), None);
        assert!(row.value("memory_bytes").is_nan() && row.param("entry").is_nan());
        let back: FigureRow =
            serde_json::from_str(&serde_json::to_string(&row).expect("JSON")).expect("a row");
        assert_eq!(back, row);
        // A prediction has no answer.
        assert_eq!(FigureRow::from_line(&BenchResult { rounds_ns: Vec::new(), ..line }).checked, None);
    }

    #[test]
    fn ratios_are_of_rows_with_the_same_parameter() {
        let row = |series: &str, size: u64, value: f64| FigureRow {
            series: series.to_owned(),
            values: [("ns".to_owned(), value)].into(),
            ..FigureRow::default().with("size", size)
        };
        let rows = FigureRows(vec![row("a", 1, 6.0), row("b", 1, 2.0), row("a", 2, 5.0), row("b", 3, 1.0)]);
        assert_eq!(rows.ratios("a", "b", "size", "ns"), [(1.0, 3.0)]);
        assert_eq!(rows.only("size", 3.0).0.len(), 1);
    }
}
