//! The parts that the readers of both formats share: how a pass over the block ended, and its warnings.

use packet::LinkType;
use std::collections::BTreeSet;

/// Captured bytes of one frame beyond which a record is damaged: the limit of libpcap for all supported link
/// types.
pub(super) const MAX_CAPTURED: u32 = if cfg!(fuzzing) { 16 << 10 } else { 256 << 10 };

/// Distinct unsupported link types that cause a warning; a damaged file can hold thousands.
const MAX_WARNINGS: usize = 16;

/// The result of one pass of a reader over the bytes in memory.
#[derive(Debug)]
pub(super) struct PassResult {
    /// Descriptors that were filled.
    pub(super) frames: usize,
    /// Bytes stepped over; more than were in memory if a block is skipped.
    pub(super) consumed: u64,
    pub(super) stop: PassEnd,
}

/// The reason why a pass ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PassEnd {
    /// The burst is full.
    Full,
    /// The next record needs at least this many bytes in one piece.
    Short(usize),
    /// The input is no capture, for this reason.
    Foreign(String),
    /// The next record is damaged, for this reason.
    Damaged(String),
}

/// Removes the frame check sequence and straightens the lengths: `(captured, wire)`.
#[inline(always)]
pub(super) fn frame_lengths(captured: u32, wire: u32, fcs_len: u32) -> (u32, u32) {
    let wire = wire.max(captured);
    let wire = wire - fcs_len.min(wire);
    (captured.min(wire), wire)
}

/// Warnings for the user, and the causes already reported.
#[derive(Default)]
pub(super) struct Warnings {
    pub(super) texts: Vec<String>,
    link_types: BTreeSet<u16>,
    remarks: BTreeSet<&'static str>,
}

impl Warnings {
    /// The link type of this number, with a warning the first time that it is not supported.
    pub(super) fn link_type(&mut self, name: &str, number: u16) -> LinkType {
        let link = LinkType::from(u32::from(number));
        if link == LinkType::Unsupported
            && self.link_types.len() < MAX_WARNINGS
            && self.link_types.insert(number)
        {
            self.texts
                .push(format!("{name}: link type {number} is not supported: its frames are not measured"));
        }
        link
    }

    /// Warns once of this peculiarity of the file.
    pub(super) fn remark(&mut self, name: &str, remark: &'static str) {
        if self.remarks.insert(remark) {
            self.texts.push(format!("{name}: {remark}"));
        }
    }
}

/// Returns why a file with these first bytes is no capture.
pub(super) fn foreign(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = "not a capture file: it starts with".to_string();
    for byte in bytes.iter().take(4) {
        // Writing to a string cannot fail.
        let _ = write!(text, " {byte:02x}");
    }
    text.push_str(" (pcap or pcapng is read, plain or in gzip or zstd)");
    text
}
