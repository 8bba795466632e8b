//! What is known of rows before they are read.

use packet::KeySpec;
use std::collections::BTreeSet;

/// What is known of rows before they are read.
pub(super) struct Facts {
    /// What all keys have.
    pub(super) key: KeySpec,
    /// The length of the longest windows.
    pub(super) window_ns: Option<u64>,
    /// Statistics of packets that any row has.
    pub(super) statistics: Vec<String>,
    /// How many there are.
    pub(super) rows: Option<u64>,
    /// False if some are known to lack losses.
    pub(super) tracks_loss: bool,
    /// Some are flow records.
    pub(super) has_records: bool,
    /// The lengths of windows, and what has them.
    pub(super) lengths: BTreeSet<(String, u64)>,
}
