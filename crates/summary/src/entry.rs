//! A flow's state in the table: a hot part that every packet touches and a cold one that few do.

use packet::{Key, KeySpec, KeyV4, KeyV6, PacketFields};
use record::{EndReason, FlowRecord};

/// What every packet reads and writes: one cache line for IPv4, two for IPv6.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Hot<K> {
    pub(crate) key: K,
    /// Latest packet.
    pub(crate) ltime: u64,
    /// Layer-3 bytes of the open window.
    pub(crate) bytes: u64,
    /// Wire bytes of the open window.
    pub(crate) wire: u64,
    /// Packets of the open window, less what was carried to the cold line.
    pub(crate) packets: u32,
    /// Start of the flow in units of 2^30 ns, to see from here that it may be too old. In a free entry: the next
    /// free one.
    pub(crate) start_coarse: u32,
    pub(crate) tcp_seq: u32,
    pub(crate) tcp_ack: u32,
    pub(crate) tcp_win: u16,
    pub(crate) ip_ttl: u8,
    pub(crate) ip_tos: u8,
    /// Number of the window that the counts belong to.
    pub(crate) window: u16,
    pub(crate) tcp_flags: u8,
    /// 0 in a free entry.
    pub(crate) live: u8,
}

/// What is written when a flow begins, when a window's counts are sealed, and when it ends.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Cold {
    pub(crate) stime: u64,
    /// Totals of the sealed windows.
    pub(crate) total_count: u64,
    pub(crate) total_byte: u64,
    pub(crate) wire_byte: u64,
    /// Packets of the open window in units of `CARRY`.
    pub(crate) carried: u32,
    pub(crate) vlan: u16,
    pub(crate) macs: [u8; 12],
    /// Of a pair: began when the other direction had.
    pub(crate) is_second: bool,
}

const _: () =
    assert!(size_of::<Hot<KeyV4>>() == 64 && size_of::<Hot<KeyV6>>() == 128 && size_of::<Cold>() == 64);

/// At this many packets in one window the hot line's 32-bit count is carried over to the cold line: 2^31 packets of
/// one flow take 15 s at 100 Gbit/s, and windows may be longer.
pub(crate) const CARRY: u32 = 1 << 31;

/// What was counted, of one flow or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Layer-3 bytes.
    pub bytes: u64,
    /// Bytes of the frames on the wire.
    pub wire: u64,
}

/// A time in units of 2^30 ns (1.07 s).
#[inline(always)]
pub(crate) fn coarse(time_ns: u64) -> u32 {
    (time_ns >> 30) as u32
}

impl<K: Key> Hot<K> {
    /// A key without a record.
    pub(crate) fn vacant(key: K) -> Self {
        Self { live: 0, packets: 0, bytes: 0, wire: 0, ..Self::first(key, &PacketFields::default(), 0) }
    }

    pub(crate) fn first(key: K, packet: &PacketFields, window: u16) -> Self {
        Self {
            key,
            ltime: packet.time_ns,
            bytes: packet.total_byte.into(),
            wire: packet.wire_byte.into(),
            packets: 1,
            start_coarse: coarse(packet.time_ns),
            tcp_seq: packet.tcp_seq,
            tcp_ack: packet.tcp_ack,
            tcp_win: packet.tcp_win,
            window,
            tcp_flags: packet.tcp_flags,
            ip_ttl: packet.ip_ttl,
            ip_tos: packet.ip_tos,
            live: 1,
        }
    }

    /// Counts a packet that came after `ltime`. Branch-free.
    #[inline(always)]
    pub(crate) fn add(&mut self, packet: &PacketFields) {
        self.ltime = packet.time_ns;
        self.bytes += u64::from(packet.total_byte);
        self.wire += u64::from(packet.wire_byte);
        self.packets += 1;
        self.tcp_flags |= packet.tcp_flags;
        // All read before the first is written, and in one order here and there: two moves instead of five.
        let PacketFields { tcp_seq, tcp_ack, tcp_win, ip_ttl, ip_tos, .. } = *packet;
        self.tcp_seq = tcp_seq;
        self.tcp_ack = tcp_ack;
        self.tcp_win = tcp_win;
        self.ip_ttl = ip_ttl;
        self.ip_tos = ip_tos;
    }

    /// Closes the counts of the open window: they move to the totals.
    pub(crate) fn seal(&mut self, cold: &mut Cold) -> Counts {
        let packets = u64::from(self.packets) + u64::from(cold.carried) * u64::from(CARRY);
        let counts = Counts { packets, bytes: self.bytes, wire: self.wire };
        cold.total_count += counts.packets;
        cold.total_byte += counts.bytes;
        cold.wire_byte += counts.wire;
        (self.packets, self.bytes, self.wire, cold.carried) = (0, 0, 0, 0);
        counts
    }

    /// The finished record; the open window must have been sealed.
    pub(crate) fn record(&self, cold: &Cold, spec: &KeySpec, end_reason: EndReason) -> FlowRecord {
        FlowRecord {
            key: Some(self.key.flow_key(spec)),
            stime: cold.stime,
            ltime: self.ltime,
            total_count: cold.total_count,
            total_byte: cold.total_byte,
            wire_byte: cold.wire_byte,
            tcp_seq: self.tcp_seq,
            tcp_ack: self.tcp_ack,
            tcp_win: self.tcp_win,
            vlan: (cold.vlan != PacketFields::NO_VLAN).then_some(cold.vlan),
            smac: std::array::from_fn(|i| cold.macs[6 + i]),
            dmac: std::array::from_fn(|i| cold.macs[i]),
            tcp_flags: self.tcp_flags,
            ip_ttl: self.ip_ttl,
            ip_tos: self.ip_tos,
            end_reason,
            more: None,
        }
    }
}

impl Cold {
    pub(crate) const EMPTY: Self = Self {
        stime: 0,
        total_count: 0,
        total_byte: 0,
        wire_byte: 0,
        carried: 0,
        vlan: 0,
        macs: [0; 12],
        is_second: false,
    };

    pub(crate) fn first(packet: &PacketFields) -> Self {
        Self { stime: packet.time_ns, vlan: packet.vlan, macs: packet.macs, ..Self::EMPTY }
    }
}
