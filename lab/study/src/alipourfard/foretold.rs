//! The paper's model, fitted to this machine: one point for all that it foretells.

use crate::deciding::RoundedValue;
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};

/// Rows of Tables 2 and 3.
pub(super) const ENTRIES: &str = "table_2_and_3";
/// The paper's name of Edison's own table among the entries.
pub(super) const OWN: &str = "Edison's flow table";

/// Fits the model, of whose rows a figure shows some.
pub(super) fn model(scale: Scale, shows: fn(&FigureRow) -> bool) -> StudyPoint {
    let seconds = scale.pick(0.5, 3.0);
    StudyPoint::new(format!("model seconds={seconds}"), move || {
        let mut rows = Vec::new();
        bench::figures::model(seconds, &mut |line| rows.push(FigureRow::from_line(&line)))?;
        Ok(rows)
    })
    .only(shows)
}

/// Returns true if a row is a measurement from which predictions are made.
pub(super) fn is_measured(row: &FigureRow) -> bool {
    row.series != ENTRIES && row.series != "figure_2"
}

/// A prediction, give or take the largest error of the model where it was compared with a measurement.
///
/// # Errors
/// The model was compared with nothing.
pub(super) fn foretold(rows: &FigureRows, value: f64) -> Result<RoundedValue, String> {
    let errors = rows.0.iter().map(|row| row.value("error_percent").abs() / 100.0);
    let error = errors.filter(|error| error.is_finite()).reduce(f64::max);
    let error = error.ok_or("the model was compared with no measurement")?;
    Ok(RoundedValue::new(value, [value * (1.0 - error), value * (1.0 + error)]))
}

/// The kind of entry of a row.
pub(super) fn entry(row: &FigureRow) -> &str {
    row.params.get("entry").and_then(|entry| entry.as_str()).unwrap_or_default()
}
