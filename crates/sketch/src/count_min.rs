//! The answer of counters that only ever grow.

use super::Estimate;

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

/// The estimate of a key that was read off counters, by its least row. The key may be one that never occurred: of all keys that there could be,
/// some share a heavy counter of every row with others, so that no lower bound but 0 holds for all that are found.
pub(crate) fn read_off(least: f64) -> Estimate {
    let upper = if least >= u32::MAX.into() { f64::INFINITY } else { least };
    Estimate::bounded(least, 0.0, upper, 1.0)
}
