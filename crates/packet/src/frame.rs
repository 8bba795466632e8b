//! A frame as delivered by a source.

use crate::LinkType;

/// One frame, borrowed from its source.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The captured bytes, from the link header on, without the frame check sequence.
    pub data: &'a [u8],
    /// Length on the wire in bytes; at least `data.len()`, more where a snap length cut the frame.
    pub wire_len: u32,
    /// Time of arrival, nanoseconds since the epoch.
    pub time_ns: u64,
    /// The header that the first byte belongs to.
    pub link: LinkType,
    /// The VLAN tag (TCI) that a driver removed from the frame; counted in neither length.
    pub stripped_vlan: Option<u16>,
}
