//! The paper's model, fitted to this machine: one point for all that it foretells.

use crate::point::{Scale, StudyPoint};
use crate::row::FigureRow;

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

/// The kind of entry of a row.
pub(super) fn entry(row: &FigureRow) -> &str {
    row.params.get("entry").and_then(|entry| entry.as_str()).unwrap_or_default()
}
