//! A flow's state in the table: a hot part that every packet touches and a cold one that few do.

use crate::tally::{Spilt, Tally};
use flow::{EndReason, FlowRecord};
use packet::{Key, KeySpec, KeyV4, KeyV6, PacketFields};

/// What every packet reads and writes: one cache line for IPv4, two for IPv6.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Hot<K> {
    pub(crate) key: K,
    /// Latest packet.
    pub(crate) ltime: u64,
    /// Layer-3 bytes of the open window.
    pub(crate) bytes: u64,
    /// Packets of the open window and bytes of their frames on the wire, less what spilled to the cold line: 2^32 bytes of one flow take
    /// 0.34 s at 100 Gbit/s.
    tally: Tally,
    /// Start of the flow in units of 2^30 ns, to see from here that it may be too old. In a free entry: the next
    /// free one.
    pub(crate) start_coarse: u32,
    /// Number of the last packet, modulo 2^48 where numbers are kept: a flow that is silent while as many frames come (22 days at
    /// 148 million a second) seems less so. The upper bits are in `number_high`. From here to `ip_tos` the order is that of
    /// [`PacketFields`]: one move of 16 bytes takes all.
    number: u32,
    pub(crate) tcp_seq: u32,
    pub(crate) tcp_ack: u32,
    pub(crate) tcp_win: u16,
    pub(crate) ip_ttl: u8,
    pub(crate) ip_tos: u8,
    number_high: u16,
    pub(crate) tcp_flags: u8,
    state: State,
}

/// Whether an entry holds a record, and which window its counts belong to: the open one, or the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct State(u8);

impl State {
    const LIVE: u8 = 1 << 7;

    #[inline(always)]
    fn new(window: u16, is_live: bool) -> Self {
        Self(window as u8 & !Self::LIVE | if is_live { Self::LIVE } else { 0 })
    }

    #[inline(always)]
    fn is_live(self) -> bool {
        self.0 & Self::LIVE != 0
    }

    #[inline(always)]
    fn is_in(self, window: u16) -> bool {
        (self.0 ^ window as u8) & !Self::LIVE == 0
    }
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
    /// Number of the first packet, where numbers are kept.
    pub(crate) first_number: u64,
    /// What the hot line could not hold of the open window.
    spilt: Spilt,
    pub(crate) vlan: u16,
    pub(crate) macs: [u8; 12],
    /// Of a pair: began when the other direction had.
    pub(crate) is_second: bool,
}

const _: () =
    assert!(size_of::<Hot<KeyV4>>() == 64 && size_of::<Hot<KeyV6>>() == 128 && size_of::<Cold>() == 64);

/// Numbers of packets are kept modulo this.
const NUMBERS: u64 = 1 << 48;

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

/// A time in units of 2^30 ns (1.07 s); what is later than [`LATEST_COARSE`] (the year 2116) is that.
#[inline(always)]
pub(crate) fn coarse(time_ns: u64) -> u32 {
    u32::try_from(time_ns >> 30).unwrap_or(LATEST_COARSE).min(LATEST_COARSE)
}

/// One less than what would fit, so that there is something later.
pub(crate) const LATEST_COARSE: u32 = u32::MAX - 1;

impl<K: Key> Hot<K> {
    /// A key without a record.
    pub(crate) fn vacant(key: K, window: u16) -> Self {
        Self { state: State::new(window, false), ..Self::empty(key, window) }
    }

    /// A record without packets.
    pub(crate) fn empty(key: K, window: u16) -> Self {
        Self { tally: Tally::default(), ..Self::first(key, &PacketFields::default(), 0, window) }
    }

    /// A record of one packet.
    pub(crate) fn first(key: K, packet: &PacketFields, number: u64, window: u16) -> Self {
        Self {
            key,
            ltime: packet.time_ns,
            bytes: packet.total_byte.into(),
            tally: Tally::first(packet.wire_byte),
            start_coarse: coarse(packet.time_ns),
            number: number as u32,
            number_high: (number >> 32) as u16,
            tcp_seq: packet.tcp_seq,
            tcp_ack: packet.tcp_ack,
            tcp_win: packet.tcp_win,
            ip_ttl: packet.ip_ttl,
            ip_tos: packet.ip_tos,
            tcp_flags: packet.tcp_flags,
            state: State::new(window, true),
        }
    }

    /// True where a record is in this entry.
    #[inline(always)]
    pub(crate) fn is_live(&self) -> bool {
        self.state.is_live()
    }

    /// The record is over.
    pub(crate) fn end(&mut self) {
        self.state.0 &= !State::LIVE;
    }

    /// True where the counts belong to this window.
    #[inline(always)]
    pub(crate) fn is_in(&self, window: u16) -> bool {
        self.state.is_in(window)
    }

    /// The counts, which were sealed, belong to this window from here on.
    #[inline(always)]
    pub(crate) fn enter(&mut self, window: u16) {
        self.state = State::new(window, self.is_live());
    }

    /// Its tally with this packet.
    #[inline(always)]
    pub(crate) fn tally_with(&self, packet: &PacketFields) -> Tally {
        self.tally.plus(packet.wire_byte)
    }

    /// Counts a packet that came after `ltime`, with the tally that it makes, which does not spill. Branch-free.
    #[inline(always)]
    pub(crate) fn add(&mut self, packet: &PacketFields, tally: Tally) {
        self.tally = tally;
        self.bytes += u64::from(packet.total_byte);
        self.set_last(packet);
    }

    /// Counts a packet, late ones and those that spill too.
    pub(crate) fn add_any(&mut self, packet: &PacketFields, cold: &mut Cold) {
        self.bytes += u64::from(packet.total_byte);
        self.tally.add(1, packet.wire_byte.into(), &mut cold.spilt);
        let ltime = self.ltime.max(packet.time_ns);
        self.set_last(packet);
        self.ltime = ltime;
    }

    #[inline(always)]
    fn set_last(&mut self, packet: &PacketFields) {
        self.ltime = packet.time_ns;
        self.tcp_flags |= packet.tcp_flags;
        // All read before the first is written, and in one order here and there: one move instead of six.
        let PacketFields { number, tcp_seq, tcp_ack, tcp_win, ip_ttl, ip_tos, .. } = *packet;
        self.number = number;
        self.tcp_seq = tcp_seq;
        self.tcp_ack = tcp_ack;
        self.tcp_win = tcp_win;
        self.ip_ttl = ip_ttl;
        self.ip_tos = ip_tos;
    }

    /// Number of the last packet, where numbers are kept. `latest`: of the latest packet of all.
    pub(crate) fn number(&self, latest: u64) -> u64 {
        let number = u64::from(self.number_high) << 32 | u64::from(self.number);
        latest.wrapping_sub(latest.wrapping_sub(number) % NUMBERS)
    }

    #[inline(always)]
    pub(crate) fn set_number(&mut self, number: u64) {
        (self.number, self.number_high) = (number as u32, (number >> 32) as u16);
    }

    /// Adds to the counts of the open window.
    pub(crate) fn add_counts(&mut self, cold: &mut Cold, more: &Counts) {
        self.bytes += more.bytes;
        self.tally.add(more.packets, more.wire, &mut cold.spilt);
    }

    /// True where nothing was counted in the open window.
    pub(crate) fn is_sealed(&self, cold: &Cold) -> bool {
        self.tally.whole(cold.spilt).0 == 0
    }

    /// Closes the counts of the open window: they move to the totals.
    pub(crate) fn seal(&mut self, cold: &mut Cold) -> Counts {
        let (packets, wire) = self.tally.whole(cold.spilt);
        let counts = Counts { packets, bytes: self.bytes, wire };
        cold.total_count += counts.packets;
        cold.total_byte += counts.bytes;
        cold.wire_byte += counts.wire;
        (self.tally, self.bytes, cold.spilt) = (Tally::default(), 0, Spilt::NOTHING);
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
        first_number: 0,
        spilt: Spilt::NOTHING,
        vlan: 0,
        macs: [0; 12],
        is_second: false,
    };

    pub(crate) fn first(packet: &PacketFields, number: u64) -> Self {
        Self {
            stime: packet.time_ns,
            first_number: number,
            vlan: packet.vlan,
            macs: packet.macs,
            ..Self::EMPTY
        }
    }
}
