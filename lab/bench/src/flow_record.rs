//! `edison-lab bench record`: flow records, and what FloWatcher (Zhang et al., "FloWatcher-DPDK: lightweight
//! line-rate flow-level monitoring in software", IEEE TNSM 16(3), 2019) reports that they cost.

mod counted;
mod cuckoo;
mod direct;
mod flows;
mod hash_tables;
mod hashes;
mod identify;
mod miscount;
mod parts;
mod spooky;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod wire_tables;

pub use flowtable::by_hash::HashTableKind;
pub(crate) use wire_tables::CountedPackets;

use crate::{BenchResult, Points};

const BENCH: &str = "record";

/// A part of the bench that can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordPart {
    /// The cost of optional parts of a record.
    Statistics,
    /// FloWatcher's flow tables (its Figure 3) and Edison's.
    Tables,
    /// Hash functions on 5-tuples (Figure 6a).
    Hashes,
    /// Identifying a packet's flow (Figure 6b).
    Identifying,
}

/// Measures one part, restricted to these points; its variants take turns.
///
/// # Errors
/// One line: the traffic is not possible.
pub fn measure_record(part: RecordPart, points: &Points) -> Result<Vec<BenchResult>, String> {
    let mut lines = Vec::new();
    part.run(points, &mut |line| lines.push(line))?;
    Ok(lines)
}

impl RecordPart {
    const ALL: [Self; 4] = [Self::Statistics, Self::Tables, Self::Hashes, Self::Identifying];

    fn run(self, points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
        match self {
            Self::Statistics => parts::run(points, out),
            Self::Tables => tables::run(points, out),
            Self::Hashes => hashes::run(points, out),
            Self::Identifying => identify::run(points, out),
        }
    }
}

/// Runs all parts in sequence.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    RecordPart::ALL.into_iter().try_for_each(|part| part.run(points, out))
}
