//! A flow's state in the table: a hot part that every packet touches and a cold one that few do.

use crate::arrivals::{OUT_OF_ORDER, OutOfOrderTimes, RecordTimes};
use crate::tally::{FirstLinkFields, FlowTally, Spills};
use flow::{EndReason, FlowRecord, HeaderValues, WindowRow};
use packet::{Key, KeySpec, KeyV4, KeyV6, PacketFields};

/// The part of a flow's state that every packet reads and writes: one cache line for IPv4, two for IPv6.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Hot<K> {
    pub(crate) key: K,
    /// Stream time when the last packet arrived, which is its own time and the latest of the record, or [`OUT_OF_ORDER`]. 0 where no
    /// record is in the entry.
    pub(crate) arrived: u64,
    /// Layer-3 bytes of the open window.
    pub(crate) bytes: u64,
    /// Packets of the open window and bytes of their frames on the wire, minus what spilled ([`Spills`]).
    tally: FlowTally,
    /// Time of the flow's first packet or of its arrival, the earlier of both, in units of 2^30 ns: it tells here that the flow may be too
    /// old. 0 where no record is in the entry. In a free entry: the next free one.
    pub(crate) start_coarse: u32,
    /// Number of the last packet, modulo 2^48 where numbers are kept: a flow that is silent while as many
    /// frames come (22 days at 148 million a second) seems to be silent for a shorter time. The upper bits
    /// are in `number_high`. From here to `ip_tos` the order is that of
    /// [`PacketFields`]: one move of 16 bytes takes all.
    number: u32,
    pub(crate) tcp_seq: u32,
    pub(crate) tcp_ack: u32,
    pub(crate) tcp_win: u16,
    pub(crate) ip_ttl: u8,
    pub(crate) ip_tos: u8,
    number_high: u16,
    /// TCP flags of the record's packets in the open window. Those before are in the cold line: so a window and a record have separate
    /// flags, and a packet sets one byte.
    pub(crate) tcp_flags: u8,
    state: SlotState,
}

/// The state of a slot: if it holds a record, and which window its counts belong to: the open one, or the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct SlotState(u8);

impl SlotState {
    /// A record is in the slot.
    const LIVE: u8 = 1 << 7;
    /// The other direction of the pair is the initiator, also of a record that ended by the active timeout.
    const SECOND: u8 = 1 << 6;
    /// A record that ended in the window left counts here, which are sealed with the window.
    const LEFT: u8 = 1 << 5;
    const WINDOW: u8 = Self::LEFT - 1;

    #[inline(always)]
    fn new(window: u16, flags: u8) -> Self {
        Self(window as u8 & Self::WINDOW | flags)
    }

    #[inline(always)]
    fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    fn set(&mut self, flag: u8, value: bool) {
        self.0 = self.0 & !flag | if value { flag } else { 0 };
    }

    #[inline(always)]
    fn is_in(self, window: u16) -> bool {
        (self.0 ^ window as u8) & Self::WINDOW == 0
    }
}

/// The part of a flow's state that is written only when a flow begins, by its first packet of a window, when a window's counts are sealed,
/// and when it ends.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Cold {
    /// Earliest packet. Where no record is in the slot, the latest one of the record that ended.
    pub(crate) stime: u64,
    /// The record's totals, minus the open window's counts. If an earlier record left counts in the open
    /// window they are negative, modulo 2^64.
    total_count: u64,
    total_byte: u64,
    wire_byte: u64,
    /// Number of the first packet, where numbers are kept. Of a pair without a record, in its first slot: the latest packet of both
    /// directions of the one that ended by the active timeout.
    pub(crate) first_number: u64,
    /// Earliest packet of the open window, if it has any.
    first_ns: u64,
    pub(crate) vlan: u16,
    pub(crate) macs: [u8; 12],
    /// TCP flags of the record before the open window.
    sealed_flags: u8,
    /// TCP flags of the open window's packets of records that ended in it.
    left_flags: u8,
}

const _: () =
    assert!(size_of::<Hot<KeyV4>>() == 64 && size_of::<Hot<KeyV6>>() == 128 && size_of::<Cold>() == 64);

/// Numbers of packets are kept modulo this.
const NUMBERS: u64 = 1 << 48;

/// Counts of one flow or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Layer-3 bytes.
    pub bytes: u64,
    /// Bytes of the frames on the wire.
    pub wire: u64,
}

/// A time in units of 2^30 ns (1.07 s); later times (after the year 2116) become [`LATEST_COARSE`].
#[inline(always)]
pub(crate) fn coarse(time_ns: u64) -> u32 {
    u32::try_from(time_ns >> 30).unwrap_or(LATEST_COARSE).min(LATEST_COARSE)
}

/// The latest coarse time: one less than the maximum, so that a later value exists.
pub(crate) const LATEST_COARSE: u32 = u32::MAX - 1;

impl<K: Key> Hot<K> {
    /// A key without a record.
    pub(crate) fn vacant(key: K, window: u16) -> Self {
        Self { state: SlotState::new(window, 0), arrived: 0, start_coarse: 0, ..Self::empty(key, window) }
    }

    /// A record without packets.
    pub(crate) fn empty(key: K, window: u16) -> Self {
        Self { tally: FlowTally::EMPTY, ..Self::first(key, &PacketFields::default(), 0, window) }
    }

    /// A record of one packet.
    pub(crate) fn first(key: K, packet: &PacketFields, number: u64, window: u16) -> Self {
        Self {
            key,
            arrived: packet.time_ns,
            bytes: packet.total_byte.into(),
            tally: FlowTally::first(packet.wire_byte),
            start_coarse: coarse(packet.time_ns),
            number: number as u32,
            number_high: (number >> 32) as u16,
            tcp_seq: packet.tcp_seq,
            tcp_ack: packet.tcp_ack,
            tcp_win: packet.tcp_win,
            ip_ttl: packet.ip_ttl,
            ip_tos: packet.ip_tos,
            tcp_flags: packet.tcp_flags,
            state: SlotState::new(window, SlotState::LIVE),
        }
    }

    /// True if a record is in this slot.
    #[inline(always)]
    pub(crate) fn is_live(&self) -> bool {
        self.state.has(SlotState::LIVE)
    }

    /// Returns true if the other direction of the pair is the initiator.
    pub(crate) fn is_second(&self) -> bool {
        self.state.has(SlotState::SECOND)
    }

    /// Sets the flag.
    pub(crate) fn set_second(&mut self, is_second: bool) {
        self.state.set(SlotState::SECOND, is_second);
    }

    /// True if no record is in the slot, but counts of one that are still to be sealed.
    pub(crate) fn has_left(&self) -> bool {
        self.state.has(SlotState::LEFT)
    }

    /// Records that there is something to be sealed, though no record is in the slot.
    pub(crate) fn set_left(&mut self) {
        self.state.set(SlotState::LEFT, true);
    }

    /// True where the last packet did not arrive at its own time.
    #[inline(always)]
    pub(crate) fn is_out_of_order(&self) -> bool {
        self.arrived == OUT_OF_ORDER
    }

    /// True where the counts belong to this window.
    #[inline(always)]
    pub(crate) fn is_in(&self, window: u16) -> bool {
        self.state.is_in(window)
    }

    /// The counts, which were sealed, belong to this window from here on.
    #[inline(always)]
    pub(crate) fn enter(&mut self, window: u16) {
        self.state = SlotState::new(window, self.state.0 & (SlotState::LIVE | SlotState::SECOND));
    }

    /// Returns the entry's tally with this packet.
    #[inline(always)]
    pub(crate) fn tally_with(&self, packet: &PacketFields) -> FlowTally {
        self.tally.plus(packet.wire_byte)
    }

    /// Counts a packet that arrived at its own time after another one that did, with the tally that it makes, which does not spill. Branch-free.
    #[inline(always)]
    pub(crate) fn add(&mut self, packet: &PacketFields, tally: FlowTally) {
        self.tally = tally;
        self.bytes += u64::from(packet.total_byte);
        self.set_last(packet);
    }

    #[inline(always)]
    fn set_last(&mut self, packet: &PacketFields) {
        self.arrived = packet.time_ns;
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
}

/// Two lines of a slot, the hot and the cold one, and what its tally spilled: for all changes other than one more packet.
pub(crate) struct EntrySlot<'a, K> {
    pub(crate) number: usize,
    pub(crate) hot: &'a mut Hot<K>,
    pub(crate) cold: &'a mut Cold,
    pub(crate) spills: &'a mut Spills,
    pub(crate) arrivals: &'a mut OutOfOrderTimes,
}

impl<K: Key> EntrySlot<'_, K> {
    /// Returns when the record's packets were, and when they arrived.
    #[inline]
    pub(crate) fn times(&self) -> RecordTimes {
        self.arrivals.times(self.number, self.cold.stime, self.hot.arrived)
    }

    /// Sets the times; there must be room for them unless they are in order.
    pub(crate) fn set_times(&mut self, times: &RecordTimes) {
        self.cold.stime = times.stime;
        self.hot.start_coarse = coarse(times.began.min(times.stime));
        self.hot.arrived = self.arrivals.set(self.number, times);
    }

    /// Counts a packet, those that spill and the first of a window too. The record's times are then to be set.
    pub(crate) fn add_any(&mut self, packet: &PacketFields) {
        let counts = Counts { packets: 1, bytes: packet.total_byte.into(), wire: packet.wire_byte.into() };
        self.add_counts(&counts, packet.time_ns);
        self.hot.set_last(packet);
    }

    /// Adds to the counts of the open window; `first_ns` is the earliest packet's time.
    pub(crate) fn add_counts(&mut self, more: &Counts, first_ns: u64) {
        let before = if self.hot.tally.is_empty() { u64::MAX } else { self.cold.first_ns };
        self.cold.first_ns = before.min(first_ns);
        self.hot.bytes += more.bytes;
        self.spills.add(self.number, &mut self.hot.tally, more.packets, more.wire);
    }

    /// Returns the counts of the open window.
    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        let (packets, wire) = self.spills.whole(self.number, self.hot.tally);
        Counts { packets, bytes: self.hot.bytes, wire }
    }

    /// True if nothing was counted in the open window.
    #[inline]
    pub(crate) fn is_sealed(&self) -> bool {
        self.hot.tally.is_empty()
    }

    /// Closes the counts of the open window, which move to the totals, and returns its row without header fields.
    #[inline]
    pub(crate) fn seal(&mut self) -> WindowRow<K> {
        let last_ns = if self.hot.is_live() { self.times().ltime } else { self.cold.stime };
        let (hot, cold) = (&mut *self.hot, &mut *self.cold);
        let (packets, wire) = self.spills.whole(self.number, hot.tally);
        hot.tally = FlowTally::EMPTY;
        let mut row = WindowRow {
            key: hot.key,
            packets,
            bytes: hot.bytes,
            wire_bytes: wire,
            first_ns: if packets == 0 { last_ns } else { cold.first_ns },
            last_ns,
            tcp_seq: hot.tcp_seq,
            tcp_ack: hot.tcp_ack,
            tcp_win: hot.tcp_win,
            vlan: cold.vlan,
            tcp_flags: hot.tcp_flags | cold.left_flags,
            ip_ttl: hot.ip_ttl,
            ip_tos: hot.ip_tos,
            macs: cold.macs,
            headers: HeaderValues::NONE,
        };
        if !self.spills.is_empty()
            && let Some(FirstLinkFields { vlan, macs }) = self.spills.forget(self.number)
        {
            (row.vlan, row.macs) = (vlan, macs);
        }
        cold.total_count = cold.total_count.wrapping_add(packets);
        cold.total_byte = cold.total_byte.wrapping_add(hot.bytes);
        cold.wire_byte = cold.wire_byte.wrapping_add(wire);
        hot.bytes = 0;
        cold.sealed_flags |= hot.tcp_flags;
        (hot.tcp_flags, cold.left_flags) = (0, 0);
        row
    }

    /// Ends the record; what it counted in the open window remains to be sealed.
    pub(crate) fn end(&mut self) {
        let is_sealed = self.is_sealed();
        let ltime = self.times().ltime;
        self.arrivals.forget(self.number);
        let (hot, cold) = (&mut *self.hot, &mut *self.cold);
        cold.stime = ltime;
        cold.left_flags |= hot.tcp_flags;
        hot.tcp_flags = 0;
        // A packet finds the slot past a timeout: records end by timeouts alone while packets come.
        (hot.arrived, hot.start_coarse) = (0, 0);
        hot.state.set(SlotState::LIVE, false);
        hot.state.set(SlotState::LEFT, hot.has_left() || !is_sealed);
    }

    /// Begins a record after one that left counts in the open window.
    pub(crate) fn begin_again(&mut self, packet: &PacketFields, number: u64) {
        let left = self.counts();
        let first = FirstLinkFields { vlan: self.cold.vlan, macs: self.cold.macs };
        if !self.is_sealed() && first != (FirstLinkFields { vlan: packet.vlan, macs: packet.macs }) {
            self.spills.begin(self.number, first);
        }
        let (hot, cold) = (&mut *self.hot, &mut *self.cold);
        *cold = Cold {
            total_count: left.packets.wrapping_neg(),
            total_byte: left.bytes.wrapping_neg(),
            wire_byte: left.wire.wrapping_neg(),
            first_ns: cold.first_ns,
            left_flags: cold.left_flags,
            ..Cold::first(packet, number)
        };
        hot.start_coarse = coarse(packet.time_ns);
        hot.state.set(SlotState::LIVE, true);
        hot.state.set(SlotState::SECOND, false);
        self.add_any(packet);
        self.hot.set_number(number);
    }

    /// Returns all TCP flags of the record.
    pub(crate) fn record_flags(&self) -> u8 {
        self.cold.sealed_flags | self.hot.tcp_flags
    }

    /// The record so far, as one row without header fields.
    pub(crate) fn record_row(&self) -> WindowRow<K> {
        let open = self.counts();
        let RecordTimes { stime, ltime, .. } = self.times();
        let (hot, cold) = (&*self.hot, &*self.cold);
        WindowRow {
            key: hot.key,
            packets: cold.total_count.wrapping_add(open.packets),
            bytes: cold.total_byte.wrapping_add(open.bytes),
            wire_bytes: cold.wire_byte.wrapping_add(open.wire),
            first_ns: stime,
            last_ns: ltime,
            tcp_seq: hot.tcp_seq,
            tcp_ack: hot.tcp_ack,
            tcp_win: hot.tcp_win,
            vlan: cold.vlan,
            tcp_flags: self.record_flags(),
            ip_ttl: hot.ip_ttl,
            ip_tos: hot.ip_tos,
            macs: cold.macs,
            headers: HeaderValues::NONE,
        }
    }

    /// The record so far.
    pub(crate) fn record(&self, spec: &KeySpec, end_reason: EndReason) -> FlowRecord {
        let row = self.record_row();
        FlowRecord { end_reason, ..FlowRecord::of_row(row.key.flow_key(spec), &row) }
    }
}

impl Cold {
    /// TCP flags of the record before the open window.
    pub(crate) fn sealed_flags(&self) -> u8 {
        self.sealed_flags
    }

    /// Returns the latest packet of the record that ended by the active timeout, for the first slot of a pair without a record.
    pub(crate) fn last_of_both(&self) -> u64 {
        self.first_number
    }

    pub(crate) fn set_last_of_both(&mut self, time_ns: u64) {
        self.first_number = time_ns;
    }

    pub(crate) const EMPTY: Self = Self {
        stime: 0,
        total_count: 0,
        total_byte: 0,
        wire_byte: 0,
        first_number: 0,
        first_ns: 0,
        vlan: 0,
        macs: [0; 12],
        sealed_flags: 0,
        left_flags: 0,
    };

    pub(crate) fn first(packet: &PacketFields, number: u64) -> Self {
        Self {
            stime: packet.time_ns,
            first_number: number,
            first_ns: packet.time_ns,
            vlan: packet.vlan,
            macs: packet.macs,
            ..Self::EMPTY
        }
    }
}
