//! A burst of parsed packets, as the tables take it.

use crate::{Key, Seed};

/// What a flow record keeps of one packet, besides its key. 48 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFields {
    /// Time of the packet in nanoseconds since the epoch.
    pub time_ns: u64,
    /// Length that the IP header states (IPFIX octetDeltaCount), bytes.
    pub total_byte: u32,
    /// Length of the frame on the wire without its check sequence, bytes.
    pub wire_byte: u32,
    /// TCP sequence number; 0 for other protocols.
    pub tcp_seq: u32,
    /// TCP acknowledgement number; 0 for other protocols.
    pub tcp_ack: u32,
    /// TCP window as in the header, unscaled; 0 for other protocols.
    pub tcp_win: u16,
    /// Outermost VLAN id, `None` as [`PacketFields::NO_VLAN`].
    pub vlan: u16,
    /// TCP flags, CWR to FIN; 0 for other protocols.
    pub tcp_flags: u8,
    /// Time to live or hop limit.
    pub ip_ttl: u8,
    /// Type of service or traffic class, the whole octet.
    pub ip_tos: u8,
    /// Source MAC address; zero where the link has none.
    pub smac: [u8; 6],
    /// Destination MAC address; zero where the link has none.
    pub dmac: [u8; 6],
}

impl PacketFields {
    /// The value of `vlan` for an untagged frame (VLAN ids have 12 bits).
    pub const NO_VLAN: u16 = u16::MAX;
}

/// Parsed packets of one address family: arrays of equal length, filled per burst and reused.
#[derive(Debug)]
pub struct KeyBurst<K> {
    keys: Vec<K>,
    hashes: Vec<u64>,
    fields: Vec<PacketFields>,
}

impl<K: Key> KeyBurst<K> {
    /// Room for `capacity` packets; more are taken too, at the price of an allocation.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            keys: Vec::with_capacity(capacity),
            hashes: Vec::with_capacity(capacity),
            fields: Vec::with_capacity(capacity),
        }
    }

    /// Adds a packet and hashes its key.
    #[inline(always)]
    pub fn push(&mut self, key: K, fields: PacketFields, seed: &Seed) {
        self.keys.push(key);
        self.hashes.push(key.hash(seed));
        self.fields.push(fields);
    }

    /// Forgets all packets and keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.keys.clear();
        self.hashes.clear();
        self.fields.clear();
    }

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without packets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys, in the order of arrival.
    #[inline]
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The keys' hashes.
    #[inline]
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The packets' fields.
    #[inline]
    pub fn fields(&self) -> &[PacketFields] {
        &self.fields
    }
}
