//! `edison bench record`: flow records, and what FloWatcher (Zhang et al., "FloWatcher-DPDK: lightweight
//! line-rate flow-level monitoring in software", IEEE TNSM 16(3), 2019) reports that they cost.

mod bucket;
mod combined;
mod counted;
mod cuckoo;
mod double;
mod flows;
mod hashes;
mod identify;
mod linked_list;
mod list;
mod miscount;
mod parts;
mod spooky;
mod table;
mod tables;
#[cfg(test)]
mod tests;

use crate::{Line, Points};

const BENCH: &str = "record";

/// Runs all parts in sequence.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    parts::run(points, out)?;
    tables::run(points, out)?;
    hashes::run(points, out)?;
    identify::run(points, out)
}
