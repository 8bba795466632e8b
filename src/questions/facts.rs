//! What is known of rows before they are read.

use model::Span;
use packet::KeySpec;
use std::collections::BTreeSet;

/// What is known of rows before they are read.
pub(crate) struct Facts {
    /// What all keys have.
    pub(crate) key: KeySpec,
    /// The length of the longest windows.
    pub(crate) window_ns: Option<u64>,
    /// Statistics of packets that any row has.
    pub(crate) statistics: Vec<String>,
    /// How many there are.
    pub(crate) rows: Option<u64>,
    /// False if some are known to lack losses.
    pub(crate) tracks_loss: bool,
    /// Some are flow records.
    pub(crate) has_records: bool,
    /// The time of the packets of all rows, where that is known.
    pub(crate) span: Option<Span>,
    /// The lengths of windows, and what has them.
    pub(crate) lengths: BTreeSet<(String, u64)>,
}
