//! A flow record: one direction of one key, from its first packet to its end (RFC 7011, section 2).

use packet::FlowKey;

/// Why a flow record ended (IPFIX flowEndReason, RFC 5102 section 5.11.3, with our names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EndReason {
    /// No packet for the idle timeout.
    Idle,
    /// Older than the active timeout; the flow goes on in a new record.
    Active,
    /// The source ended, or the user did.
    End,
}

impl EndReason {
    /// The name that records carry.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::End => "end",
        }
    }
}

/// A finished flow record. Times are nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// The 5-tuple; `None` in the one record `other`, which holds what came when the table was full.
    pub key: Option<FlowKey>,
    /// Earliest packet.
    pub stime: u64,
    /// Latest packet.
    pub ltime: u64,
    /// Packets.
    pub total_count: u64,
    /// Layer-3 bytes, as the IP headers state them.
    pub total_byte: u64,
    /// Bytes of the frames on the wire, without the frame check sequence.
    pub wire_byte: u64,
    /// Sequence number of the flow's last packet; 0 where it is not TCP.
    pub tcp_seq: u32,
    /// Acknowledgement number of the flow's last packet.
    pub tcp_ack: u32,
    /// Window of the flow's last packet, unscaled.
    pub tcp_win: u16,
    /// Outermost VLAN id of the first packet; `None` where untagged.
    pub vlan: Option<u16>,
    /// Source MAC address of the first packet; zero where the link has none.
    pub smac: [u8; 6],
    /// Destination MAC address of the first packet.
    pub dmac: [u8; 6],
    /// All TCP flags seen, or-ed.
    pub tcp_flags: u8,
    /// Time to live or hop limit of the last packet.
    pub ip_ttl: u8,
    /// Type of service or traffic class of the last packet.
    pub ip_tos: u8,
    /// Why the record ended.
    pub end_reason: EndReason,
}
