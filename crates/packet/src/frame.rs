//! A frame as delivered by a source.

use crate::LinkType;

/// A frame, borrowed from its source.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The captured bytes, from the link header on, without the frame check sequence.
    pub data: &'a [u8],
    /// Length on the wire in bytes; at least `data.len()`, more where a snap length cut the frame.
    pub wire_len: u32,
    /// Time of arrival, nanoseconds since the epoch; at most [`Frame::LATEST_NS`], or [`Frame::NO_TIME`].
    pub time_ns: u64,
    /// The header that the first byte belongs to.
    pub link: LinkType,
    /// The VLAN tag (TCI) that a driver removed from the frame; counted in neither length.
    pub stripped_vlan: Option<u16>,
}

impl Frame<'_> {
    /// The latest time that the fields of a record hold: Parquet and signed clocks have 63 bits, up to the year 2262.
    pub const LATEST_NS: u64 = i64::MAX as u64;
    /// The time that a source states where the time is before 1970 or later than [`Frame::LATEST_NS`].
    pub const NO_TIME: u64 = u64::MAX;
}
