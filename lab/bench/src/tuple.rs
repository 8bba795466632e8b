//! A 5-tuple in the 13 bytes that the paper's hash functions read.

use packet::{FlowKey, Key, KeySpec, KeyV4, Seed, Toeplitz};
use std::net::IpAddr;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Addresses, ports and protocol of an IPv4 flow, source first, as in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tuple([u8; 13]);

impl Tuple {
    pub(crate) fn new(addresses: [u8; 8], ports: [u8; 4], protocol: u8) -> Self {
        let mut bytes = [protocol; 13];
        bytes[..8].copy_from_slice(&addresses);
        bytes[8..12].copy_from_slice(&ports);
        Self(bytes)
    }

    /// Returns the 5-tuple of a record; `None` if it is no 5-tuple of an IPv4 flow.
    pub(crate) fn from_record_key(key: &FlowKey) -> Option<Self> {
        let (IpAddr::V4(src), IpAddr::V4(dst)) = (key.src_addr?, key.dst_addr?) else { return None };
        let ([a, b], [c, d]) = (key.src_port?.to_be_bytes(), key.dst_port?.to_be_bytes());
        let mut addresses = [0; 8];
        addresses[..4].copy_from_slice(&src.octets());
        addresses[4..].copy_from_slice(&dst.octets());
        Some(Self::new(addresses, [a, b, c, d], key.protocol?))
    }

    /// Returns the 5-tuple of a table's key.
    pub(crate) fn from_v4(key: &KeyV4) -> Self {
        Self::from_record_key(&key.flow_key(&KeySpec::FIVE_TUPLE)).expect("an IPv4 key is of an IPv4 flow")
    }

    /// The table's key.
    #[inline(always)]
    pub(crate) fn key(&self) -> KeyV4 {
        KeyV4::new(*self.addresses(), *self.ports(), self.protocol())
    }

    /// Returns all 13 bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8; 13] {
        &self.0
    }

    #[inline(always)]
    fn part<const N: usize>(&self, at: usize) -> &[u8; N] {
        self.0[at..].first_chunk().expect("all parts lie within the tuple")
    }

    /// Source and destination address.
    #[inline(always)]
    pub(crate) fn addresses(&self) -> &[u8; 8] {
        self.part(0)
    }

    /// Source and destination port.
    #[inline(always)]
    pub(crate) fn ports(&self) -> &[u8; 4] {
        self.part(8)
    }

    #[inline(always)]
    pub(crate) fn protocol(&self) -> u8 {
        self.0[12]
    }

    /// True if the protocol has ports.
    pub(crate) fn has_ports(&self) -> bool {
        matches!(self.protocol(), TCP | UDP)
    }

    /// The members as numbers in host order: addresses, ports, protocol.
    #[inline(always)]
    pub(crate) fn members(&self) -> [u32; 5] {
        let address = |at| u32::from_be_bytes(*self.part(at));
        let port = |at| u32::from(u16::from_be_bytes(*self.part(at)));
        [address(0), address(4), port(8), port(10), u32::from(self.protocol())]
    }

    /// Returns the hash that a card computes: of addresses, and of ports where the protocol has some.
    pub(crate) fn rss(&self, toeplitz: &Toeplitz) -> u32 {
        if self.has_ports() {
            toeplitz.ipv4_ports(self.addresses(), self.ports())
        } else {
            toeplitz.ipv4(self.addresses())
        }
    }
}

/// The key of structures that keep keys: these take 13 bytes there, a table's 16.
impl Key for Tuple {
    #[inline(always)]
    fn hash(&self, seed: &Seed) -> u64 {
        self.key().hash(seed)
    }

    fn reversed(&self) -> Self {
        Self::from_v4(&self.key().reversed())
    }

    fn flow_key(&self, spec: &KeySpec) -> FlowKey {
        self.key().flow_key(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same_key() {
        let key = KeyV4::new([10, 1, 2, 3, 192, 0, 2, 77], [0xc3, 0x50, 1, 0xbb], TCP);
        let tuple = Tuple::from_v4(&key);
        assert_eq!(tuple, Tuple::new([10, 1, 2, 3, 192, 0, 2, 77], [0xc3, 0x50, 1, 0xbb], TCP));
        assert_eq!(tuple.key(), key);
        assert_eq!(tuple.bytes(), &[10, 1, 2, 3, 192, 0, 2, 77, 0xc3, 0x50, 1, 0xbb, 6]);
        assert_eq!(tuple.members(), [0x0a01_0203, 0xc000_024d, 50_000, 443, 6]);
    }

    #[test]
    fn a_card_hashes_ports_only_where_there_are_some() {
        let rss = Toeplitz::new(&Toeplitz::MICROSOFT_KEY);
        // The first line of Microsoft's verification suite.
        let tuple = |protocol| Tuple::new([66, 9, 149, 187, 161, 142, 100, 80], [10, 234, 6, 230], protocol);
        assert_eq!(tuple(TCP).rss(&rss), 0x51cc_c178);
        assert_eq!(tuple(UDP).rss(&rss), 0x51cc_c178);
        assert_eq!(tuple(1).rss(&rss), 0x323e_8fc2);
    }
}
