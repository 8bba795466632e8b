//! The result of a capture.

use model::Counters;
use std::path::PathBuf;

/// A capture that has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinishedCapture {
    /// The name of the capture.
    pub id: String,
    /// The reason why there is no file.
    pub failed: Option<String>,
    /// The file.
    pub file: Option<PathBuf>,
    /// The number of packets in the file.
    pub packets: u64,
    /// The length of the file, bytes.
    pub bytes: u64,
    /// The reason why the capture has ended: `packets`, `time`, `bytes`, `cancelled`, `run_end`, `fault`.
    pub ended_by: &'static str,
    /// The packets that are not in the file, by cause: `capture_rate`, `capture_room`.
    pub dropped: Counters,
    /// True if at least one packet is not in the file as a whole.
    pub is_cut: bool,
    /// The file, unless it is longer than [`FinishedCapture::MOST_CONTENT`].
    pub content: Option<Vec<u8>>,
}

impl FinishedCapture {
    /// The longest file that is passed on, bytes.
    pub const MOST_CONTENT: u64 = 1 << 20;
}
