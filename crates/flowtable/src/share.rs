//! Flow shares: the counts of a flow by one core, or by all of them in one structure. Shares of the same flow add up to the record that one
//! core would have made, whatever the order in which they are merged.

use crate::Counts;
use crate::arrivals::RecordTimes;
use crate::entry::EntrySlot;
use flow::HeaderValues;
use packet::{Key, PacketFields};

/// The part of a flow that one core has seen.
#[derive(Clone, Copy, Debug)]
pub struct FlowShare<K> {
    /// The flow.
    pub key: K,
    /// Counts of the flow's packets.
    pub counts: Counts,
    /// The properties that are not sums.
    pub marks: FlowAttributes,
    /// Header fields of the flow's packets; of no packet where they are not measured.
    pub headers: HeaderValues,
}

impl<K> FlowShare<K> {
    /// Times of its earliest and its latest packet.
    pub fn span(&self) -> (u64, u64) {
        (self.marks.stime, self.marks.ltime)
    }
}

/// The values that a record keeps of its packets in addition to their sums. The frames' numbers, which one receiver assigns and no two of
/// its packets share, determine the first and the last packet: so there are no ties, and a packet with an old time stamp counts as it does
/// in one table.
///
/// Packets of one flow that reached several receivers (fragments, which a card spreads by other fields) are
/// numbered separately at each: the first and the last of them is then one of theirs.
#[derive(Clone, Copy, Debug)]
pub struct FlowAttributes {
    pub(crate) stime: u64,
    pub(crate) ltime: u64,
    /// Number of the first packet, and of the last.
    pub(crate) numbers: [u64; 2],
    pub(crate) tcp_seq: u32,
    pub(crate) tcp_ack: u32,
    pub(crate) tcp_win: u16,
    pub(crate) vlan: u16,
    /// TCP flags of all packets, or-ed.
    pub(crate) tcp_flags: u8,
    pub(crate) ip_ttl: u8,
    pub(crate) ip_tos: u8,
    pub(crate) macs: [u8; 12],
}

impl FlowAttributes {
    /// TCP flags of all packets, or-ed.
    pub fn tcp_flags(&self) -> u8 {
        self.tcp_flags
    }

    /// The attributes of no packet.
    pub(crate) const NONE: Self = Self {
        stime: u64::MAX,
        ltime: 0,
        numbers: [u64::MAX, 0],
        tcp_seq: 0,
        tcp_ack: 0,
        tcp_win: 0,
        vlan: 0,
        tcp_flags: 0,
        ip_ttl: 0,
        ip_tos: 0,
        macs: [0; 12],
    };

    /// Creates the attributes of one packet with this number; the first frame's is 1.
    #[inline(always)]
    pub(crate) fn from_packet(packet: &PacketFields, number: u64) -> Self {
        Self {
            stime: packet.time_ns,
            ltime: packet.time_ns,
            numbers: [number; 2],
            tcp_seq: packet.tcp_seq,
            tcp_ack: packet.tcp_ack,
            tcp_win: packet.tcp_win,
            vlan: packet.vlan,
            tcp_flags: packet.tcp_flags,
            ip_ttl: packet.ip_ttl,
            ip_tos: packet.ip_tos,
            macs: packet.macs,
        }
    }

    /// Reads the attributes of a flow in a table. `latest`: the greatest number of all that arrived there.
    pub(crate) fn read<K: Key>(slot: &EntrySlot<'_, K>, latest: u64) -> Self {
        let (hot, cold) = (&*slot.hot, &*slot.cold);
        let RecordTimes { stime, ltime, .. } = slot.times();
        Self {
            stime,
            ltime,
            numbers: [cold.first_number, hot.number(latest)],
            tcp_seq: hot.tcp_seq,
            tcp_ack: hot.tcp_ack,
            tcp_win: hot.tcp_win,
            vlan: cold.vlan,
            tcp_flags: slot.record_flags(),
            ip_ttl: hot.ip_ttl,
            ip_tos: hot.ip_tos,
            macs: cold.macs,
        }
    }

    /// Writes the attributes into a table, except for the TCP flags, which windows keep separately.
    pub(crate) fn write<K: Key>(&self, slot: &mut EntrySlot<'_, K>) {
        let &Self { stime, ltime, .. } = self;
        slot.set_times(&RecordTimes { stime, ltime, began: stime, arrived: ltime });
        let (hot, cold) = (&mut *slot.hot, &mut *slot.cold);
        (cold.vlan, cold.macs) = (self.vlan, self.macs);
        cold.first_number = self.numbers[0];
        hot.set_number(self.numbers[1]);
        (hot.tcp_seq, hot.tcp_ack, hot.tcp_win) = (self.tcp_seq, self.tcp_ack, self.tcp_win);
        (hot.ip_ttl, hot.ip_tos) = (self.ip_ttl, self.ip_tos);
    }

    /// Merges both.
    #[inline(always)]
    pub(crate) fn merge(&mut self, more: &Self) {
        self.stime = self.stime.min(more.stime);
        self.ltime = self.ltime.max(more.ltime);
        self.tcp_flags |= more.tcp_flags;
        if more.numbers[0] < self.numbers[0] {
            self.numbers[0] = more.numbers[0];
            (self.vlan, self.macs) = (more.vlan, more.macs);
        }
        if more.numbers[1] > self.numbers[1] {
            self.numbers[1] = more.numbers[1];
            (self.tcp_seq, self.tcp_ack, self.tcp_win) = (more.tcp_seq, more.tcp_ack, more.tcp_win);
            (self.ip_ttl, self.ip_tos) = (more.ip_ttl, more.ip_tos);
        }
    }
}
