//! A window row: what one flow key counted in one window.

use crate::LossCounts;

/// What a flow key had in one window: the window's own counts, and last values as they were when it was sealed.
///
/// There is one row for each key and window in which the key had packets, also where a record ended and another one
/// began within the window. With loss tracking there are rows without packets, where losses were found of a direction
/// that sent nothing. The key is the table's, of either address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct WindowRow<K> {
    /// The flow key.
    pub key: K,
    /// Packets.
    pub packets: u64,
    /// Layer-3 bytes, as the IP headers state them.
    pub bytes: u64,
    /// Bytes of the frames on the wire, without the frame check sequence.
    pub wire_bytes: u64,
    /// Time of the earliest packet in the window, nanoseconds since the epoch.
    pub first_ns: u64,
    /// Time of the latest packet up to the end of the window of the record that was open last. Only where every packet of
    /// the flow in the window was late is it before the window's first packet.
    pub last_ns: u64,
    /// TCP sequence number of the last packet.
    pub tcp_seq: u32,
    /// TCP acknowledgement number of the last packet.
    pub tcp_ack: u32,
    /// TCP window of the last packet, unscaled.
    pub tcp_win: u16,
    /// Outermost VLAN id of the record's first packet; [`WindowRow::NO_VLAN`] where untagged.
    pub vlan: u16,
    /// TCP flags of the window's packets, or-ed.
    pub tcp_flags: u8,
    /// Time to live or hop limit of the last packet.
    pub ip_ttl: u8,
    /// Type of service or traffic class of the last packet.
    pub ip_tos: u8,
    /// MAC addresses of the record's first packet, destination first; zero where the link has none.
    pub macs: [u8; 12],
}

impl<K> WindowRow<K> {
    /// The value of `vlan` for untagged frames: VLAN ids have 12 bits.
    pub const NO_VLAN: u16 = u16::MAX;
}

/// Rows of one window and one address family, as they leave a table.
#[derive(Clone, Debug, Default)]
pub struct Rows<K> {
    /// The rows.
    pub rows: Vec<WindowRow<K>>,
    /// Where losses are tracked, those of each row; else empty.
    pub losses: Vec<LossCounts>,
}

impl<K> Rows<K> {
    /// Room for `rows` rows, and for their losses where these are tracked.
    pub fn with_capacity(rows: usize, tracks_loss: bool) -> Self {
        let losses = if tracks_loss { rows } else { 0 };
        Self { rows: Vec::with_capacity(rows), losses: Vec::with_capacity(losses) }
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.losses.clear();
    }

    /// The losses of row number `at`, where they are tracked.
    pub fn loss(&self, at: usize) -> Option<&LossCounts> {
        self.losses.get(at)
    }
}
