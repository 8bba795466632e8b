//! The facts about rows that are known before they are read.

use model::Span;
use packet::KeySpec;
use std::collections::BTreeSet;

/// The facts about rows that are known before they are read.
pub struct RowFacts {
    /// The members that all keys have.
    pub key: KeySpec,
    /// The length of the longest windows.
    pub window_ns: Option<u64>,
    /// Statistics of packets that any row has.
    pub statistics: Vec<String>,
    /// The number of rows.
    pub rows: Option<u64>,
    /// The optional parts that no row is known to lack.
    pub tracked: flow::TrackedParts,
    /// True if some rows are flow records.
    pub has_records: bool,
    /// The time of the packets of all rows, where that is known.
    pub span: Option<Span>,
    /// The lengths of windows, and what has them.
    pub lengths: BTreeSet<(String, u64)>,
}
