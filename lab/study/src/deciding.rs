//! The values that decide a finding: those of rows that were checked and not oversubscribed.

use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;

/// A value that decides, of the first row of a series.
///
/// # Errors
/// Why it does not: it was not measured, its answer was wrong, or more threads than cores took turns.
pub(crate) fn value(rows: &FigureRows, series: &str, name: &str) -> Result<f64, String> {
    deciding(rows.rows_of_series(series).next(), series, name)
}

/// Returns a value that decides, of the row of a series where a numeric parameter has this value.
///
/// # Errors
/// As [`value`].
pub(crate) fn value_at(
    rows: &FigureRows,
    series: &str,
    (param, at): (&str, f64),
    name: &str,
) -> Result<f64, String> {
    deciding(rows.at(series, param, at), &format!("{series} with {param} {at}"), name)
}

fn deciding(row: Option<&FigureRow>, what: &str, name: &str) -> Result<f64, String> {
    let row = row.ok_or_else(|| format!("{what} was not measured"))?;
    if row.checked == Some(false) {
        return Err(format!("the answer of {what} was wrong"));
    }
    if row.value("oversubscribed") == 1.0 {
        return Err(format!("{what} had more threads than cores"));
    }
    let value = row.value(name);
    if value.is_finite() { Ok(value) } else { Err(format!("{what} has no {name}")) }
}

/// The verdict of a predicate: whether the finding holds and why, or why nothing is decided.
pub(crate) fn verdict(finding: &str, decided: Result<(bool, String), String>) -> FindingResult {
    match decided {
        Ok((holds, why)) => FindingResult::new(finding, holds, why),
        Err(why) => FindingResult::open(finding, why),
    }
}

/// The least and the most of values.
pub(crate) fn ends(values: &[f64]) -> [f64; 2] {
    [f64::min, f64::max].map(|end| values.iter().copied().fold(f64::NAN, end))
}

#[cfg(test)]
pub(crate) mod made {
    //! Rows that nothing measured, for tests of judges.

    use super::{FigureRow, FigureRows};

    /// A row with these values.
    pub(crate) fn row(series: &str, values: &[(&str, f64)]) -> FigureRow {
        FigureRow {
            series: series.to_owned(),
            values: values.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            checked: Some(true),
            ..FigureRow::default()
        }
    }

    /// The rows with one value of one series changed.
    pub(crate) fn changed(rows: &FigureRows, series: &str, name: &str, value: f64) -> FigureRows {
        let mut rows = rows.clone();
        for row in rows.0.iter_mut().filter(|row| row.series == series) {
            row.values.insert(name.to_owned(), value);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::made::row;
    use super::*;

    #[test]
    fn wrong_and_oversubscribed_rows_decide_nothing() {
        let good = row("a", &[("ns", 4.0)]).with("size", 8);
        let wrong = FigureRow { checked: Some(false), ..row("b", &[("ns", 4.0)]) };
        let rows = FigureRows(vec![good, wrong, row("c", &[("ns", 4.0), ("oversubscribed", 1.0)])]);
        assert_eq!(value(&rows, "a", "ns"), Ok(4.0));
        assert_eq!(value_at(&rows, "a", ("size", 8.0), "ns"), Ok(4.0));
        let reasons = [
            value_at(&rows, "a", ("size", 9.0), "ns"),
            value(&rows, "a", "loss"),
            value(&rows, "b", "ns"),
            value(&rows, "c", "ns"),
            value(&rows, "d", "ns"),
        ]
        .map(|reason| reason.expect_err("decides nothing"));
        assert_eq!(
            reasons,
            [
                "a with size 9 was not measured",
                "a has no loss",
                "the answer of b was wrong",
                "c had more threads than cores",
                "d was not measured",
            ]
        );
        assert_eq!(verdict("x", Err("y".to_owned())).holds, None);
        assert_eq!(ends(&[3.0, 1.0, 2.0]), [1.0, 3.0]);
    }
}
