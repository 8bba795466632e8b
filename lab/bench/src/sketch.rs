//! `edison-lab bench sketch`: sketches compared with plain versions of them (speed), and with each other at the
//! same memory (accuracy).

mod accuracy;
mod comparison;
mod contender;
mod keyed;
mod plain_count_min;
mod plain_hash_table;
mod plain_heap;
mod reversible;
mod speed;
mod stream;

use crate::{BenchResult, Points};

const BENCH: &str = "sketch";
/// The memory of each structure in comparisons at the same memory.
const BYTES: usize = 128 << 10;

/// Runs both parts.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    speed::run(points, out)?;
    accuracy::run(points, out)
}
