//! The answer of counters that only ever grow.

use super::Estimate;
use super::confidence::CONFIDENCE;
use super::deviations::{RowDeviations, is_told, least_not_reached, most_flows_by_empty};

/// Returns the bound e·N / w; infinite if the total is saturated, as it is no bound then.
pub(crate) fn noise(total: u64, width: usize) -> f64 {
    if total == u64::MAX { f64::INFINITY } else { std::f64::consts::E * total as f64 / width as f64 }
}

/// The least of a key's counters: not less than the truth, and with a probability of 1 − e⁻ʳ for `rows` independent rows not more
/// than e·N / w above it (Cormode and Muthukrishnan 2005, theorem 1).
pub(crate) fn count_min(
    counters: impl Iterator<Item = u32>,
    total: u64,
    width: usize,
    rows: usize,
) -> Estimate {
    let least = counters.min().unwrap_or(0);
    let value = f64::from(least);
    let upper = if least == u32::MAX { f64::INFINITY } else { value };
    Estimate::bounded(value, (value - noise(total, width)).max(0.0), upper, 1.0 - (-(rows as f64)).exp())
}

/// Returns the bound that the least row of no flow is off by, with a probability of at least [`CONFIDENCE`] for all flows together, of independent
/// rows; infinite where they are too short to tell.
pub(crate) fn noise_of_all<Row: Iterator<Item = u32>>(
    rows: impl Iterator<Item = Row>,
    total: u64,
    width: usize,
) -> f64 {
    let rows: Vec<Vec<u32>> = rows.map(Row::collect).collect();
    let empty = rows.first().map_or(0, |row| row.iter().filter(|count| **count == 0).count());
    let flows = most_flows_by_empty(empty, width).unwrap_or(f64::INFINITY).min(total as f64);
    let deviations = |row: &Vec<u32>| RowDeviations::new(row.iter().map(|count| f64::from(*count)));
    let rows: Vec<_> = rows.iter().map(deviations).collect();
    let least = least_not_reached(&rows, (width, 0.0), (flows, CONFIDENCE), |shares| shares.iter().product());
    // Less than that, by a whole number.
    if total < u64::MAX && is_told(least) { least.ceil() - 1.0 } else { f64::INFINITY }
}

/// The estimate of a flow of a list, by its least row.
pub(crate) fn listed(least: f64, noise: f64) -> Estimate {
    let upper = if least >= u32::MAX.into() { f64::INFINITY } else { least };
    Estimate::bounded(least, (least - noise).max(0.0), upper, CONFIDENCE)
}
