//! The plan of a copy: which rows are read together.

use super::input::SortedInputFile;
use super::pass::{AddressRange, SortPass};
use super::{CopyError, PASS, RowOrder, damaged};
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Times of records are counted in spans of 2 to this power nanoseconds, about a second.
const SPAN: u32 = 30;
/// Addresses that are looked at to divide a window.
const SAMPLE: usize = 1 << 14;

/// Divides the rows of all files into passes, in the order of the copy.
pub(super) fn plan(
    inputs: &[SortedInputFile],
    order: RowOrder,
    stop: &AtomicBool,
) -> Result<Vec<SortPass>, CopyError> {
    let counts = counts(inputs, order, stop)?;
    let mut passes: Vec<SortPass> = Vec::new();
    let mut rows = 0;
    for (times, count) in counts {
        if count > PASS && order == RowOrder::Windows {
            passes.extend(divided(inputs, &times, count, stop)?);
            rows = PASS;
            continue;
        }
        match passes.last_mut() {
            Some(last) if rows + count <= PASS => {
                last.times.end = times.end;
                rows += count;
            }
            _ => {
                passes.push(SortPass { times, addresses: None });
                rows = count;
            }
        }
    }
    Ok(passes)
}

/// Returns the number of rows of each window, or span of time.
fn counts(
    inputs: &[SortedInputFile],
    order: RowOrder,
    stop: &AtomicBool,
) -> Result<Vec<(Range<i64>, usize)>, CopyError> {
    let shift = if order == RowOrder::Times { SPAN } else { 0 };
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for input in inputs {
        for group in input.groups() {
            if stop.load(Relaxed) {
                return Err(CopyError::Stopped);
            }
            let times = input.all_times(group).map_err(|reason| damaged(input.path(), reason))?;
            for run in times.chunk_by(|one, other| one >> shift == other >> shift) {
                *counts.entry(run[0] >> shift).or_default() += run.len();
            }
        }
    }
    let range = |at: i64| (at << shift)..(at.saturating_add(1)).saturating_mul(1 << shift);
    Ok(counts.into_iter().map(|(at, count)| (range(at), count)).collect())
}

/// Passes of the addresses of a window that has more rows than are read together.
fn divided(
    inputs: &[SortedInputFile],
    times: &Range<i64>,
    count: usize,
    stop: &AtomicBool,
) -> Result<Vec<SortPass>, CopyError> {
    let pass = SortPass { times: times.clone(), addresses: None };
    let step = count.div_ceil(SAMPLE);
    let (mut sample, mut seen) = (Vec::new(), 0);
    for input in inputs {
        for group in input.groups_of(&pass) {
            if stop.load(Relaxed) {
                return Err(CopyError::Stopped);
            }
            let read = || Ok((input.all_times(group)?, input.all_addresses(group)?));
            let (all, both) = read().map_err(|reason| damaged(input.path(), reason))?;
            for (_, both) in all.iter().zip(both).filter(|(time, _)| times.contains(time)) {
                if seen % step == 0 {
                    sample.push(both);
                }
                seen += 1;
            }
        }
    }
    sample.sort_unstable();
    let parts = count.div_ceil(PASS);
    let mut bounds: Vec<_> =
        (1..parts).filter_map(|part| sample.get(sample.len() * part / parts).copied()).collect();
    bounds.dedup();
    let starts = [Bound::Unbounded].into_iter().chain(bounds.iter().map(|both| Bound::Included(*both)));
    let ends = bounds.iter().map(|both| Bound::Excluded(*both)).chain([Bound::Unbounded]);
    let ranges = starts.zip(ends).map(|(start, end)| AddressRange(start, end));
    Ok(ranges.map(|range| SortPass { times: times.clone(), addresses: Some(range) }).collect())
}
