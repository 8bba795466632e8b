//! The three structures by size and skew, which several figures show.

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

/// The mean over all values of `param` of how many times `value` of one series is that of another; `None` without any.
pub(crate) fn mean_ratio(rows: &FigureRows, of: &str, by: &str, param: &str, value: &str) -> Option<f64> {
    let ratios = rows.ratios(of, by, param, value);
    (!ratios.is_empty()).then(|| ratios.iter().map(|(_, ratio)| ratio).sum::<f64>() / ratios.len() as f64)
}
