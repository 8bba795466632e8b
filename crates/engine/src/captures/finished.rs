//! What became of a capture.

use model::Counters;
use std::path::PathBuf;

/// A capture that has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinishedCapture {
    /// Its name.
    pub id: String,
    /// Why there is no file.
    pub failed: Option<String>,
    /// The file.
    pub file: Option<PathBuf>,
    /// Packets in it.
    pub packets: u64,
    /// Its length.
    pub bytes: u64,
    /// Why it has ended: `packets`, `time`, `bytes`, `cancelled`, `run_end`, `fault`.
    pub ended_by: &'static str,
    /// Packets that are not in it: `capture_rate`, `capture_room`.
    pub dropped: Counters,
    /// At least one packet is not there as a whole.
    pub is_cut: bool,
    /// The file, unless it is longer than [`FinishedCapture::MOST_CONTENT`].
    pub content: Option<Vec<u8>>,
}

impl FinishedCapture {
    /// The longest file that is passed on, bytes.
    pub const MOST_CONTENT: u64 = 1 << 20;
}
