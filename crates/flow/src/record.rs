//! A flow record: one direction of one key, from its first packet to its end (RFC 7011, section 2).

use crate::{FlowKey, HeaderValues, NULL, OpenFields};

/// The reason why a flow record ended (IPFIX flowEndReason, RFC 5102 section 5.11.3, with our names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EndReason {
    /// The flow had no packet for the idle timeout.
    Idle,
    /// The record was older than the active timeout; the flow continues in a new record.
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

    /// IPFIX flowEndReason: 1 idle timeout, 2 active timeout, 4 forced end.
    pub const fn number(self) -> u8 {
        match self {
            Self::Idle => 1,
            Self::Active => 2,
            Self::End => 4,
        }
    }
}

/// A finished flow record. Times are nanoseconds since the epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// The flow key; `None` in the one record `other`, which holds the packets that arrived when the table
    /// was full.
    pub key: Option<FlowKey>,
    /// Earliest packet.
    pub stime: u64,
    /// Latest packet.
    pub ltime: u64,
    /// Packets.
    pub total_count: u64,
    /// Layer-3 bytes, as the IP headers state them.
    pub total_byte: u64,
    /// Bytes of the frames on the wire, without the frame check sequence; [`NULL`] where a router does not tell them.
    pub wire_byte: u64,
    /// Sequence number of the flow's last packet; 0 where it is not TCP.
    pub tcp_seq: u32,
    /// Acknowledgement number of the flow's last packet.
    pub tcp_ack: u32,
    /// Window of the flow's last packet, unscaled.
    pub tcp_win: u16,
    /// Outermost VLAN id of the first packet; `None` if untagged.
    pub vlan: Option<u16>,
    /// Source MAC address of the first packet; zero where the link has none.
    pub smac: [u8; 6],
    /// Destination MAC address of the first packet.
    pub dmac: [u8; 6],
    /// TCP flags of all packets, or-ed.
    pub tcp_flags: u8,
    /// Time to live or hop limit of the last packet.
    pub ip_ttl: u8,
    /// Type of service or traffic class of the last packet.
    pub ip_tos: u8,
    /// The reason why the record ended.
    pub end_reason: EndReason,
    /// Header fields of all packets; of no packet where they are not measured.
    pub headers: HeaderValues,
    /// The number of packets that each packet stands for that a router counted, by which packets and bytes were multiplied: to the nearest whole number, and
    /// at least 2 in a sample. 1 where the router counted all, 0 where the rate is not known.
    pub sampling_rate: u32,
    /// The fields that a router or a file does not tell: the record has 0 of them, and files have null.
    pub open: OpenFields,
    /// The requested parts beyond the plain record; stored separately, so that plain records stay small.
    pub more: Option<Box<More>>,
}

/// The optional parts of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct More {
    /// `--loss`; `None` if the flow is not TCP.
    pub loss: Option<Loss>,
    /// `--gap`, `--packet-size`, `--inter-arrival`: one value per [`crate::Statistic`] of the run, in its order; NaN is none.
    pub statistics: [f64; MAX_STATISTICS],
    /// `--biflow`: the packets of the other direction (RFC 5103); with no optional parts except loss and
    /// statistics.
    pub reverse: Option<FlowRecord>,
}

/// The most statistics of one run.
pub const MAX_STATISTICS: usize = 12;

/// TCP losses that were seen in one direction (`docs/loss.md`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Bytes lost before the observation point, repaired later or not.
    pub ploss_byte: u64,
    /// Segments that repaired them, or would have been needed to.
    pub ploss_count: u64,
    /// Segments that arrived late but within the reordering window.
    pub reorder_count: u64,
    /// Segments with sequence numbers already seen.
    pub retrans_count: u64,
    /// Bytes already seen of these segments.
    pub retrans_byte: u64,
    /// Bytes that the peer acknowledged but that were never seen here.
    pub unseen_byte: u64,
    /// Segments with a window of zero.
    pub zero_window_count: u64,
    /// Times that sequence numbers skipped ahead.
    pub hole_count: u64,
    /// Times that sequence numbers were implausible and tracking was restarted.
    pub resync_count: u64,
    /// Shortest round-trip time between here and the receiver, nanoseconds.
    pub rtt_min: Option<u64>,
    /// Mean round-trip time between here and the receiver, nanoseconds.
    pub rtt_avg: Option<u64>,
}

impl FlowRecord {
    /// Bytes of the frames on the wire, where they are known.
    pub fn wire_bytes(&self) -> Option<u64> {
        (self.wire_byte != NULL).then_some(self.wire_byte)
    }

    /// A record without a key and without packets.
    pub fn without_packets(stime: u64, ltime: u64) -> Self {
        Self {
            key: None,
            stime,
            ltime,
            total_count: 0,
            total_byte: 0,
            wire_byte: 0,
            tcp_seq: 0,
            tcp_ack: 0,
            tcp_win: 0,
            vlan: None,
            smac: [0; 6],
            dmac: [0; 6],
            tcp_flags: 0,
            ip_ttl: 0,
            ip_tos: 0,
            end_reason: EndReason::End,
            headers: HeaderValues::NONE,
            sampling_rate: 1,
            open: OpenFields::default(),
            more: None,
        }
    }

    /// The part `--loss`, if the record has it.
    pub fn loss(&self) -> Option<&Loss> {
        self.more.as_ref()?.loss.as_ref()
    }

    /// The other direction, if the record has it.
    pub fn reverse(&self) -> Option<&FlowRecord> {
        self.more.as_ref()?.reverse.as_ref()
    }

    /// Returns this direction, or the other one.
    #[inline]
    pub fn direction(&self, is_reverse: bool) -> Option<&FlowRecord> {
        if is_reverse { self.reverse() } else { Some(self) }
    }

    /// Statistic number `at` of the run, if there is a value.
    pub fn statistic(&self, at: usize) -> Option<f64> {
        self.more.as_ref()?.statistics.get(at).copied().filter(|value| !value.is_nan())
    }
}
