//! The values that decide a finding: those of rows that were checked and not oversubscribed, from their least to their most round.

use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;

/// A value with the least and the most of its rounds. Two values differ where their rounds do not overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundedValue {
    pub(crate) value: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl RoundedValue {
    /// A value that is known exactly.
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, least: value, most: value }
    }

    /// Makes a value from a row's spread.
    pub(crate) fn new(value: f64, [least, most]: [f64; 2]) -> Self {
        Self { value, least: least.min(value), most: most.max(value) }
    }

    /// The value, each round of it this many times.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, least: self.least * factor, most: self.most * factor }
    }

    /// The sum of two values.
    pub(crate) fn plus(self, other: Self) -> Self {
        let Self { value, least, most } = other;
        Self { value: self.value + value, least: self.least + least, most: self.most + most }
    }

    /// Returns how many times the other value it is.
    pub(crate) fn over(self, other: Self) -> Self {
        Self {
            value: self.value / other.value,
            least: self.least / other.most,
            most: self.most / other.least,
        }
    }

    /// Returns true if it is less than the other; `None` where rounds overlap.
    pub(crate) fn is_below(self, other: Self) -> Option<bool> {
        match () {
            () if self.most < other.least => Some(true),
            () if self.least >= other.most => Some(false),
            () => None,
        }
    }

    /// Returns true if it is at most so much greater than the other; `None` where rounds tell neither.
    pub(crate) fn is_at_most(self, other: Self, more: f64) -> Option<bool> {
        match () {
            () if self.most <= other.least + more => Some(true),
            () if self.least > other.most + more => Some(false),
            () => None,
        }
    }

    /// Returns true if both are less than so much apart; `None` where rounds tell neither.
    pub(crate) fn is_within(self, other: Self, distance: f64) -> Option<bool> {
        let farthest = (self.most - other.least).max(other.most - self.least);
        let nearest = (self.least - other.most).max(other.least - self.most);
        match () {
            () if farthest < distance => Some(true),
            () if nearest >= distance => Some(false),
            () => None,
        }
    }

    /// `8.44 (8.1 to 8.9) %`: the value with its rounds and a unit.
    pub(crate) fn text(&self, unit: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        if self.least == self.most {
            return format!("{}{unit}", short(self.value));
        }
        format!("{} ({} to {}){unit}", short(self.value), short(self.least), short(self.most))
    }
}

/// A number with as many digits as tell something: `0.0123`, `8.44`, `123`, `1.2e-7`.
pub(crate) fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size == 0.0 || !size.is_finite() => return format!("{value}"),
        size if size < 1e-3 => return format!("{value:.1e}"),
        size if size < 1.0 => 3,
        size if size < 100.0 => 2,
        _ => 0,
    };
    let power = 10_f64.powi(digits);
    format!("{}", (value * power).round() / power)
}

/// The most claims whose values a verdict names.
const MOST_TEXTS: usize = 6;

/// A part of a finding that values decide, or do not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claim {
    /// The values, as a clause.
    pub(crate) text: String,
    /// `None` where rounds overlap.
    pub(crate) holds: Option<bool>,
}

impl Claim {
    pub(crate) fn new(holds: Option<bool>, text: impl Into<String>) -> Self {
        Self { text: text.into(), holds }
    }
}

/// The verdict of claims that have to hold together; or why nothing is decided.
pub(crate) fn conclude(finding: &str, claims: Result<Vec<Claim>, String>) -> FindingResult {
    let claims = match claims {
        Ok(claims) if !claims.is_empty() => claims,
        Ok(_) => return FindingResult::open(finding, "nothing is measured"),
        Err(why) => return FindingResult::open(finding, why),
    };
    let texts = |wanted: Option<bool>| {
        let of = |claim: &&Claim| claim.holds == wanted;
        let mut texts: Vec<_> = claims.iter().filter(of).map(|claim| claim.text.as_str()).collect();
        texts.dedup();
        let more = match texts.len().saturating_sub(MOST_TEXTS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        texts.truncate(MOST_TEXTS);
        texts.join("; ") + &more
    };
    let is_any = |wanted| claims.iter().any(|claim| claim.holds == wanted);
    if is_any(Some(false)) {
        return FindingResult::of_rounds(finding, Some(false), texts(Some(false)));
    }
    if is_any(None) {
        return FindingResult::of_rounds(finding, None, format!("rounds overlap: {}", texts(None)));
    }
    FindingResult::of_rounds(finding, Some(true), texts(Some(true)))
}

/// A value that decides, of the first row of a series.
///
/// # Errors
/// Why it does not: it was not measured, its answer was wrong, or more threads than cores took turns.
pub(crate) fn value(rows: &FigureRows, series: &str, name: &str) -> Result<RoundedValue, String> {
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
) -> Result<RoundedValue, String> {
    deciding(rows.at(series, param, at), &format!("{series} with {param} {at}"), name)
}

fn deciding(row: Option<&FigureRow>, what: &str, name: &str) -> Result<RoundedValue, String> {
    let row = row.ok_or_else(|| format!("{what} was not measured"))?;
    if row.checked == Some(false) {
        return Err(format!("the answer of {what} was wrong"));
    }
    if row.value("oversubscribed") == 1.0 {
        return Err(format!("{what} had more threads than cores"));
    }
    let value = row.value(name);
    if !value.is_finite() {
        return Err(format!("{what} has no {name}"));
    }
    match row.spread(name) {
        // A time is never the same twice: one round has no spread, and decides nothing.
        Some([least, most])
            if least == most && row.value("rounds") < 2.0 && name.ends_with("ns_per_packet") =>
        {
            Err(format!("one round of {what} decides nothing"))
        }
        Some(spread) => Ok(RoundedValue::new(value, spread)),
        None => Ok(RoundedValue::exact(value)),
    }
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

    /// The rows with rounds of one value of one series that go from its half to its double.
    pub(crate) fn spread_out(rows: &FigureRows, series: &str, name: &str) -> FigureRows {
        let mut rows = rows.clone();
        for row in rows.0.iter_mut().filter(|row| row.series == series) {
            let value = row.value(name);
            row.values.insert(format!("{name}_least"), value / 2.0);
            row.values.insert(format!("{name}_most"), value * 2.0);
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
        let once =
            row("e", &[("ns_per_packet_least", 4.0), ("ns_per_packet_most", 4.0), ("ns_per_packet", 4.0)]);
        let mut once_known = once.clone();
        once_known.values.insert("rounds".to_owned(), 1.0);
        let rows =
            FigureRows(vec![good, wrong, row("c", &[("ns", 4.0), ("oversubscribed", 1.0)]), once_known]);
        assert_eq!(value(&rows, "a", "ns"), Ok(RoundedValue::exact(4.0)));
        assert_eq!(value_at(&rows, "a", ("size", 8.0), "ns"), Ok(RoundedValue::exact(4.0)));
        let reasons = [
            value_at(&rows, "a", ("size", 9.0), "ns"),
            value(&rows, "a", "loss"),
            value(&rows, "b", "ns"),
            value(&rows, "c", "ns"),
            value(&rows, "d", "ns"),
            value(&rows, "e", "ns_per_packet"),
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
                "one round of e decides nothing",
            ]
        );
        assert_eq!(conclude("x", Err("y".to_owned())).holds, None);
    }

    #[test]
    fn values_differ_where_their_rounds_do_not_overlap() {
        let of = |value: f64| RoundedValue::new(value, [value - 1.0, value + 1.0]);
        assert_eq!(of(3.0).is_below(of(6.0)), Some(true));
        assert_eq!(of(3.0).is_below(of(4.5)), None);
        assert_eq!(of(6.0).is_below(of(3.0)), Some(false));
        let zero = RoundedValue::exact(0.0);
        assert_eq!((zero.is_below(zero), zero.is_at_most(zero, 0.0)), (Some(false), Some(true)));
        assert_eq!(of(3.0).is_at_most(of(3.0), 2.0), Some(true));
        assert_eq!(of(3.0).is_at_most(of(3.0), 0.5), None);
        assert_eq!(of(9.0).is_at_most(of(3.0), 0.5), Some(false));
        assert_eq!(of(3.0).is_within(of(4.0), 5.0), Some(true));
        assert_eq!(of(3.0).is_within(of(4.0), 2.0), None);
        assert_eq!(of(3.0).is_within(of(8.0), 2.0), Some(false));
        assert_eq!(of(4.0).over(of(2.0)), RoundedValue { value: 2.0, least: 1.0, most: 5.0 });
        assert_eq!(of(4.0).times(2.0).plus(zero), RoundedValue { value: 8.0, least: 6.0, most: 10.0 });
        // A median lies within its rounds whatever it was rounded to.
        assert_eq!(RoundedValue::new(2.0, [2.5, 3.0]).least, 2.0);
        assert_eq!(of(8.444).text("%"), "8.44 (7.44 to 9.44) %");
        assert_eq!(RoundedValue::exact(1.25e-7).text(""), "1.2e-7");
        assert_eq!((short(0.0), short(0.01234), short(1234.5)), ("0".into(), "0.012".into(), "1235".into()));
    }

    #[test]
    fn a_claim_that_fails_decides_and_one_that_is_open_does_not() {
        let claim = |holds, text: &str| Claim::new(holds, text);
        let concluded = |claims: Vec<Claim>| conclude("f", Ok(claims));
        let both = concluded(vec![claim(Some(true), "a"), claim(Some(true), "a"), claim(Some(true), "b")]);
        assert_eq!((both.holds, both.why.as_str()), (Some(true), "a; b"));
        let open = concluded(vec![claim(Some(true), "a"), claim(None, "b")]);
        assert_eq!((open.holds, open.why.as_str()), (None, "rounds overlap: b"));
        let fails = concluded(vec![claim(None, "a"), claim(Some(false), "b")]);
        assert_eq!((fails.holds, fails.why.as_str()), (Some(false), "b"));
        assert_eq!(concluded(Vec::new()).holds, None);
    }
}
