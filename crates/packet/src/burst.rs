//! A burst of parsed packets, as the tables take it.

use crate::{Key, PacketDetail, Seed};

/// What a flow record keeps of one packet, besides its key. 48 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PacketFields {
    /// Time of the packet in nanoseconds since the epoch.
    pub time_ns: u64,
    /// Length that the IP header states (IPFIX octetDeltaCount), bytes.
    pub total_byte: u32,
    /// Length of the frame on the wire without its check sequence, bytes; at least `total_byte`.
    pub wire_byte: u32,
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
    /// MAC addresses as in an Ethernet header, destination first; zero where the link has none.
    pub macs: [u8; 12],
}

impl PacketFields {
    /// The value of `vlan` for an untagged frame (VLAN ids have 12 bits).
    pub const NO_VLAN: u16 = u16::MAX;

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
    /// Its flow key.
    pub key: K,
    /// The key's hash by the run's seed.
    pub hash: u64,
    /// What a flow record keeps of it.
    pub fields: PacketFields,
}

/// Parsed packets of one address family, filled per burst and reused.
///
/// One array of structures: an array for each member, which the architecture began with, costs a bounds check and a
/// length for each of them on every push, and the burst lies in L1 either way.
#[derive(Debug)]
pub struct KeyBurst<K> {
    /// The first `len` are the burst; those behind it are left from earlier ones.
    slots: Vec<KeyedPacket<K>>,
    len: usize,
    /// One for each packet of the burst where they were asked for, else empty.
    details: Vec<PacketDetail>,
}

impl<K: Key> KeyBurst<K> {
    /// Room for `capacity` packets; more are taken too, at the price of an allocation.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { slots: vec![KeyedPacket::default(); capacity.max(1)], len: 0, details: Vec::new() }
    }

    /// Adds a packet and hashes its key.
    #[inline(always)]
    pub fn push(&mut self, key: K, fields: PacketFields, seed: &Seed) {
        *self.add() = KeyedPacket { key, hash: key.hash(seed), fields };
    }

    /// Adds a packet whose hash is known, with its details. Either all packets of a burst have details or none has.
    #[inline]
    pub fn push_detailed(&mut self, packet: KeyedPacket<K>, detail: PacketDetail) {
        *self.add() = packet;
        self.details.push(detail);
    }

    /// Adds a packet of another burst, with its details where that has any.
    #[inline]
    pub fn push_keyed(&mut self, packet: &KeyedPacket<K>, detail: Option<&PacketDetail>) {
        *self.add() = *packet;
        self.details.extend(detail);
    }

    /// Adds the last packet's details.
    #[inline(always)]
    pub(crate) fn add_detail(&mut self, detail: PacketDetail) {
        self.details.push(detail);
    }

    /// Adds a packet, to be filled in: it has what an earlier one left there.
    #[inline(always)]
    pub(crate) fn add(&mut self) -> &mut KeyedPacket<K> {
        if self.len == self.slots.len() {
            self.grow();
        }
        self.len += 1;
        &mut self.slots[self.len - 1]
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.push(KeyedPacket::default());
    }

    /// Forgets all packets and keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.details.clear();
    }

    /// The packets, in the order of arrival.
    #[inline]
    pub fn packets(&self) -> &[KeyedPacket<K>] {
        &self.slots[..self.len]
    }

    /// Their details in the same order; empty where nobody asked for them.
    #[inline]
    pub fn details(&self) -> &[PacketDetail] {
        &self.details
    }
}
