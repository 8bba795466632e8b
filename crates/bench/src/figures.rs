//! Single points of the benches, for who draws the papers' figures.

use crate::{Line, Points, model};

/// What emits lines.
type Out<'a> = &'a mut dyn FnMut(Line);

/// Alipourfard et al.'s simple hash table, Count-Min and heap of this many bytes each (4 KiB at least), at this skew, in turn for about
/// `seconds`: mean and percentiles of the time per packet (Figures 1 and 3).
///
/// # Errors
/// What the machine lacks, in one line.
pub fn structures(bytes: u64, zipf: f64, seconds: f64, out: Out) -> Result<(), String> {
    let points =
        Points { flows: Some(bytes / 4), zipf: Some(zipf), seconds: 10.0 * seconds, ..Points::default() };
    model::structures(&points, out)
}
