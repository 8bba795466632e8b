//! What is known of rows before they are read.

use model::Span;
use packet::KeySpec;
use std::collections::BTreeSet;

/// What is known of rows before they are read.
pub struct Facts {
    /// What all keys have.
    pub key: KeySpec,
    /// The length of the longest windows.
    pub window_ns: Option<u64>,
    /// Statistics of packets that any row has.
    pub statistics: Vec<String>,
    /// How many there are.
    pub rows: Option<u64>,
    /// False if some are known to lack losses.
    pub tracks_loss: bool,
    /// Some are flow records.
    pub has_records: bool,
    /// The time of the packets of all rows, where that is known.
    pub span: Option<Span>,
    /// The lengths of windows, and what has them.
    pub lengths: BTreeSet<(String, u64)>,
}
