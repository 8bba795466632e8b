//! A burst of parsed packets, as the tables take it.

use crate::transport::TransportWord;
use crate::{Key, Seed, TcpSegment};
use flow::HeaderValues;

/// The fields that a flow record keeps of one packet, in addition to its key. 48 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PacketFields {
    /// Time of the packet in nanoseconds since the epoch.
    pub time_ns: u64,
    /// Length that the IP header states (IPFIX octetDeltaCount), bytes.
    pub total_byte: u32,
    /// Length of the frame on the wire without its check sequence, bytes; at least `total_byte`, unless the key is of an inner packet whose rest is in later fragments.
    pub wire_byte: u32,
    /// Number of the frame among those that were received, measured or not: its low 32 bits, which
    /// [`Numbers`] completes.
    pub number: u32,
    /// TCP sequence number; 0 for other protocols.
    pub tcp_seq: u32,
    /// TCP acknowledgement number; 0 for other protocols.
    pub tcp_ack: u32,
    /// TCP window as in the header, unscaled; 0 for other protocols.
    pub tcp_win: u16,
    /// Time to live or hop limit.
    pub ip_ttl: u8,
    /// Type of service or traffic class, the whole octet.
    pub ip_tos: u8,
    /// Outermost VLAN id, `None` as [`PacketFields::NO_VLAN`].
    pub vlan: u16,
    /// TCP flags, CWR to FIN; 0 for other protocols.
    pub tcp_flags: u8,
    /// The direction of its pair that the packet's key has ([`Key::direction`]), where keys are paired; else 0.
    pub direction: u8,
    /// MAC addresses as in an Ethernet header, destination first; zero where the link has none.
    pub macs: [u8; 12],
}

impl PacketFields {
    /// The value of `vlan` for an untagged frame (VLAN ids have 12 bits).
    pub const NO_VLAN: u16 = TransportWord::NO_VLAN;

    /// Destination MAC address.
    pub fn dmac(&self) -> [u8; 6] {
        std::array::from_fn(|i| self.macs[i])
    }

    /// Source MAC address.
    pub fn smac(&self) -> [u8; 6] {
        std::array::from_fn(|i| self.macs[6 + i])
    }
}

/// A parsed packet on its way to a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyedPacket<K> {
    /// The packet's flow key.
    pub key: K,
    /// The key's hash by the run's seed.
    pub hash: u64,
    /// The fields that a flow record keeps of the packet.
    pub fields: PacketFields,
}

impl<K: Key> KeyedPacket<K> {
    /// A packet whose key is hashed as by [`KeyedPacket::hash_key`].
    #[inline(always)]
    pub fn new(key: K, fields: PacketFields, paired: bool, seed: &Seed) -> Self {
        let mut packet = Self { key, hash: 0, fields };
        packet.hash_key(paired, seed);
        packet
    }

    /// Hashes its key. Where keys are `paired`, both directions have one hash ([`Key::pair_hash`]), and the
    /// packet stores its own direction, which selects its place in a table: computing it twice would cost 12
    /// of 400 instructions.
    #[inline(always)]
    pub fn hash_key(&mut self, paired: bool, seed: &Seed) {
        if paired {
            let (first, direction) = self.key.pair();
            self.fields.direction = direction as u8;
            self.hash = first.hash(seed);
        } else {
            self.hash = self.key.hash(seed);
        }
    }
}

/// The range of the numbers of a burst's frames. It completes the 32 bits that each packet has of its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    near: u64,
}

impl Numbers {
    /// All numbers are less than 2^31 away from `number`.
    pub const fn near(number: u64) -> Self {
        Self { near: number }
    }

    /// A packet's whole number.
    #[inline(always)]
    pub fn number_of(self, fields: &PacketFields) -> u64 {
        let distance = fields.number.wrapping_sub(self.near as u32) as i32;
        self.near.wrapping_add_signed(distance.into())
    }
}

/// A packet of a burst that did not arrive at its own time: it is older than a frame before it, or so far ahead that stream
/// time does not follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// The packet's place in the burst.
    pub at: usize,
    /// Stream time when it arrived, nanoseconds since the epoch.
    pub arrived_ns: u64,
}

/// A packet of a burst whose flow is pinned ([`crate::Pins`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedPacket {
    /// The packet's place in the burst.
    pub at: usize,
    /// The packet's TCP segment, if it has one.
    pub segment: TcpSegment,
}

/// Parsed packets of one address family, filled per burst and reused.
///
/// One array of structures: an array for each member, which the architecture began with, costs a bounds check and a
/// length for each of them on every push, and the burst lies in L1 either way.
#[derive(Debug)]
pub struct KeyBurst<K> {
    /// The first `len` are the burst; those after it are left from earlier ones.
    slots: Vec<KeyedPacket<K>>,
    len: usize,
    /// TCP segments of the packets, if requested: the first `len` are theirs; else empty.
    segments: Vec<TcpSegment>,
    /// Header fields of the packets, if requested: the first `len` are theirs; else empty.
    headers: Vec<HeaderValues>,
    numbers: Numbers,
    out_of_order: Vec<OutOfOrder>,
    pinned: Vec<PinnedPacket>,
}

impl<K: Key> KeyBurst<K> {
    /// Room for `capacity` packets; more are accepted, at the cost of an allocation.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: vec![KeyedPacket::default(); capacity.max(1)],
            len: 0,
            segments: Vec::new(),
            headers: Vec::new(),
            numbers: Numbers::default(),
            out_of_order: Vec::new(),
            pinned: Vec::new(),
        }
    }

    /// Adds a packet and hashes its key.
    #[inline(always)]
    pub fn push(&mut self, key: K, fields: PacketFields, seed: &Seed) {
        *self.add() = KeyedPacket::new(key, fields, false, seed);
    }

    /// Adds a packet whose hash is known, with its TCP segment. Either all packets of a burst have segments or none has.
    #[inline]
    pub fn push_keyed(&mut self, packet: &KeyedPacket<K>, segment: Option<&TcpSegment>) {
        *self.add() = *packet;
        if let Some(segment) = segment {
            self.add_segment(*segment);
        }
    }

    /// Adds the packets of another burst that lie in these places, which ascend, with all that the burst has of them but pins.
    ///
    /// # Panics
    /// Where a place has no packet.
    pub fn append(&mut self, from: &Self, places: &[u32]) {
        let (first, end) = (self.len, self.len + places.len());
        if self.slots.len() < end {
            self.grow_to(end);
        }
        let packets = from.packets();
        for (slot, &place) in self.slots[first..end].iter_mut().zip(places) {
            *slot = packets[place as usize];
        }
        self.len = end;
        self.numbers = from.numbers;
        // None of these is there for plain records of frames in order.
        if !from.segments().is_empty() {
            append_to(&mut self.segments, first, from.segments(), places);
        }
        if !from.headers().is_empty() {
            append_to(&mut self.headers, first, from.headers(), places);
        }
        if !from.out_of_order.is_empty() {
            self.append_out_of_order(first, from, places);
        }
    }

    #[cold]
    fn grow_to(&mut self, packets: usize) {
        self.slots.resize(packets, KeyedPacket::default());
    }

    #[cold]
    fn append_out_of_order(&mut self, first: usize, from: &Self, places: &[u32]) {
        let mut places = (first..).zip(places).peekable();
        for late in &from.out_of_order {
            while places.next_if(|(_, place)| (**place as usize) < late.at).is_some() {}
            if let Some((at, _)) = places.next_if(|(_, place)| **place as usize == late.at) {
                self.out_of_order.push(OutOfOrder { at, ..*late });
            }
        }
    }

    /// Adds the last packet's segment.
    #[inline(always)]
    pub(crate) fn add_segment(&mut self, segment: TcpSegment) {
        match self.segments.get_mut(self.len - 1) {
            Some(place) => *place = segment,
            None => self.grow_segments(segment),
        }
    }

    /// Adds the last packet's header fields. Either all packets of a burst have them or none has.
    #[inline(always)]
    pub fn add_headers(&mut self, values: HeaderValues) {
        match self.headers.get_mut(self.len - 1) {
            Some(place) => *place = values,
            None => self.grow_headers(values),
        }
    }

    #[cold]
    fn grow_headers(&mut self, values: HeaderValues) {
        self.headers.push(values);
    }

    #[cold]
    fn grow_segments(&mut self, segment: TcpSegment) {
        self.segments.push(segment);
    }

    /// Sets the range of the packets' numbers.
    #[inline]
    pub fn set_numbers(&mut self, numbers: Numbers) {
        self.numbers = numbers;
    }

    /// The range of the packets' numbers.
    #[inline]
    pub fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// The last packet arrived when stream time was `arrived_ns`, not at its own time.
    #[cold]
    pub fn set_arrival(&mut self, arrived_ns: u64) {
        self.out_of_order.push(OutOfOrder { at: self.len - 1, arrived_ns });
    }

    /// Packets that did not arrive at their own time, in the order of their places. For all others the time of the packet is
    /// stream time at its arrival.
    #[inline]
    pub fn out_of_order(&self) -> &[OutOfOrder] {
        &self.out_of_order
    }

    /// The flow of the last packet is pinned.
    #[inline]
    pub fn pin(&mut self, segment: TcpSegment) {
        self.pinned.push(PinnedPacket { at: self.len - 1, segment });
    }

    /// The packets whose flows are pinned, in the order of their places.
    #[inline]
    pub fn pinned(&self) -> &[PinnedPacket] {
        &self.pinned
    }

    /// Adds a packet, to be filled in: it has what an earlier one left there.
    #[inline(always)]
    pub(crate) fn add(&mut self) -> &mut KeyedPacket<K> {
        let at = self.len;
        self.len += 1;
        // In this order, one comparison is sufficient.
        if at < self.slots.len() { &mut self.slots[at] } else { self.grow() }
    }

    /// The places of the next `count` packets, to be filled in, of which [`KeyBurst::filled`] counts.
    #[inline(always)]
    pub(crate) fn places(&mut self, count: usize) -> &mut [KeyedPacket<K>] {
        let end = self.len + count;
        if self.slots.len() < end {
            self.grow_to(end);
        }
        &mut self.slots[self.len..end]
    }

    /// Adds packets that were filled in.
    #[inline(always)]
    pub(crate) fn filled(&mut self, packets: usize) {
        debug_assert!(self.len + packets <= self.slots.len());
        self.len += packets;
    }

    #[cold]
    fn grow(&mut self) -> &mut KeyedPacket<K> {
        self.slots.push(KeyedPacket::default());
        &mut self.slots[self.len - 1]
    }

    /// Removes all packets and keeps the capacity.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.out_of_order.clear();
        self.pinned.clear();
    }

    /// The places of the next `count` packets, as far as there is room: for prefetching only, as their
    /// contents are undefined.
    #[inline]
    pub fn next_places(&self, count: usize) -> &[KeyedPacket<K>] {
        let rest = self.slots.get(self.len..).unwrap_or_default();
        &rest[..count.min(rest.len())]
    }

    /// The packets, in the order of arrival.
    #[inline]
    pub fn packets(&self) -> &[KeyedPacket<K>] {
        &self.slots[..self.len]
    }

    /// Returns the packets' TCP segments in the order of the packets; empty unless requested.
    #[inline]
    pub fn segments(&self) -> &[TcpSegment] {
        self.segments.get(..self.len).unwrap_or_default()
    }

    /// Returns the packets' header fields in the order of the packets; empty unless requested.
    #[inline]
    pub fn headers(&self) -> &[HeaderValues] {
        self.headers.get(..self.len).unwrap_or_default()
    }
}

/// Puts the values in these places of a list behind the first ones of another.
fn append_to<T: Copy>(to: &mut Vec<T>, first: usize, from: &[T], places: &[u32]) {
    // What lies behind the first ones is left from earlier bursts.
    to.truncate(first);
    to.extend(places.iter().map(|&place| from[place as usize]));
}

#[cfg(test)]
mod tests;
