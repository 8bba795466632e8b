//! The three structures by size and skew, which several figures show.

use crate::deciding::{Claim, value_at};
use crate::point::StudyPoint;
use crate::row::{FigureRow, FigureRows};

/// Series of the bench.
pub(crate) const SIMPLE: &str = "simple_hash_table";
pub(crate) const COUNT_MIN: &str = "count_min";
pub(crate) const HEAP: &str = "space_saving_heap";

/// Measures the three structures at one size and skew, in turn, for about `seconds`.
pub(crate) fn sizes(bytes: u64, zipf: f64, seconds: f64) -> StudyPoint {
    StudyPoint::new(format!("structures bytes={bytes} zipf={zipf} seconds={seconds}"), move || {
        let mut rows = Vec::new();
        bench::figures::structures(bytes, zipf, seconds, &mut |line| rows.push(FigureRow::from_line(&line)))?;
        Ok(rows)
    })
}

/// Measures the structures that find heavy hitters in this much memory, over `seeds` seeds.
pub(crate) fn heavy_hitters(bytes: u64, seeds: u64) -> StudyPoint {
    StudyPoint::new(format!("heavy hitters bytes={bytes} seeds={seeds}"), move || {
        let mut rows = Vec::new();
        bench::figures::heavy_hitters(bytes, seeds, &mut |line| {
            rows.push(FigureRow::from_line(&line).with("bytes", bytes));
        })?;
        Ok(rows)
    })
}

/// Claims that one series takes less time per packet than another at every size.
///
/// # Errors
/// A size of one was not measured, or its answer was wrong.
pub(crate) fn faster_at_every_size(
    rows: &FigureRows,
    (quick, its): (&str, &str),
    (slow, other): (&str, &str),
) -> Result<Vec<Claim>, String> {
    let claim = |row: &FigureRow| {
        let bytes = row.param("bytes");
        let at = |series| value_at(rows, series, ("bytes", bytes), "ns_per_packet");
        let (less, more) = (at(quick)?, at(slow)?);
        let text = format!(
            "with {} a packet takes {} in {its} and {} in {other}",
            notation::size_text(bytes as usize),
            less.text("ns"),
            more.text("ns")
        );
        Ok(Claim::new(less.is_below(more), text))
    };
    // Rows of accuracy have other names.
    rows.rows_of_series(quick).map(claim).collect()
}

/// The mean over all values of `param` of how many times `value` of one series is that of another; `None` without any.
pub(crate) fn mean_ratio(rows: &FigureRows, of: &str, by: &str, param: &str, value: &str) -> Option<f64> {
    let ratios = rows.ratios(of, by, param, value);
    (!ratios.is_empty()).then(|| ratios.iter().map(|(_, ratio)| ratio).sum::<f64>() / ratios.len() as f64)
}
