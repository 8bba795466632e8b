//! Flow keys as tables hold them: IPv4 and IPv6.

use crate::Seed;
use crate::key_spec::KeySpec;
use crate::transport::TransportWord;
use flow::{FlowKey, WindowRow};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A key that a flow table can hold. All bits take part in equality.
pub trait Key: Copy + Ord + Default + Send + 'static {
    /// A 64-bit hash that cannot be steered without the seed.
    fn hash(&self, seed: &Seed) -> u64;
    /// The key of the other direction: addresses and ports exchanged.
    fn reversed(&self) -> Self;
    /// The key in the form that records carry. `spec` defines its parts.
    fn flow_key(&self, spec: &KeySpec) -> FlowKey;

    /// The key with its family; `None` for keys that are of neither, which only benches have.
    #[inline(always)]
    fn family(self) -> Option<FamilyKey> {
        None
    }

    /// The row with its family; `None` as in [`Key::family`]. It is copied as a whole, not member by member.
    #[inline(always)]
    fn family_row(_row: WindowRow<Self>) -> Option<FamilyRow> {
        None
    }

    /// The lesser of its pair's two directions, and which of them this is, 0 or 1.
    #[inline(always)]
    fn pair(&self) -> (Self, usize) {
        let reversed = self.reversed();
        if reversed < *self { (reversed, 1) } else { (*self, 0) }
    }

    /// Returns which of its pair's two directions this is, 0 or 1.
    #[inline(always)]
    fn direction(&self) -> usize {
        self.pair().1
    }

    /// A hash that is the same for both directions.
    #[inline(always)]
    fn pair_hash(&self, seed: &Seed) -> u64 {
        self.pair().0.hash(seed)
    }
}

/// A key of either address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKey {
    /// A key of IPv4, and of both families where keys have no addresses.
    V4(KeyV4),
    /// A key of IPv6.
    V6(KeyV6),
}

/// A row, with its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyRow {
    /// A row of IPv4.
    V4(WindowRow<KeyV4>),
    /// A row of IPv6.
    V6(WindowRow<KeyV6>),
}

/// A key that can be reduced to a part.
pub trait MaskedKey: Key {
    /// The key reduced to `spec`, which requires no more than the key has ([`KeySpec::lacks`]).
    #[must_use]
    fn masked(&self, spec: &KeySpec) -> Self;
    /// Words of the key.
    const WORDS: usize;
    /// The key in memory's order; as bytes, its order is that of addresses (source first), ports and protocol.
    fn words(&self) -> &[u64];
    /// The key of [`MaskedKey::words`]; missing words are zero.
    fn from_words(words: &[u64]) -> Self;
    /// Source and destination address as numbers: IPv6's own, and of IPv4 the mapped one (RFC 4291, section 2.5.5.2).
    fn addresses(&self) -> [u128; 2];
    /// Source and destination port.
    fn ports(&self) -> [u16; 2];
    /// IP protocol number.
    fn protocol(&self) -> u8;
    /// Returns the part of the key after the addresses, which has the same form in both families.
    fn without_addresses(&self) -> KeyV4;
}

/// The network of IPv4-mapped addresses, `::ffff:0:0/96`.
const MAPPED: u128 = 0xffff << 32;

impl MaskedKey for KeyV4 {
    #[inline(always)]
    fn masked(&self, spec: &KeySpec) -> Self {
        Self([self.0[0] & spec.v4[0], self.0[1] & spec.v4[1]])
    }

    const WORDS: usize = 2;

    #[inline(always)]
    fn words(&self) -> &[u64] {
        &self.0
    }

    #[inline(always)]
    fn from_words(words: &[u64]) -> Self {
        Self(std::array::from_fn(|at| words.get(at).copied().unwrap_or(0)))
    }

    #[inline(always)]
    fn addresses(&self) -> [u128; 2] {
        let both = u64::from_be(self.0[0]);
        [MAPPED | u128::from(both >> 32), MAPPED | u128::from(both as u32)]
    }

    #[inline(always)]
    fn ports(&self) -> [u16; 2] {
        TransportWord(self.0[1]).ports()
    }

    #[inline(always)]
    fn protocol(&self) -> u8 {
        TransportWord(self.0[1]).protocol()
    }

    #[inline(always)]
    fn without_addresses(&self) -> KeyV4 {
        Self([0, self.0[1]])
    }
}

impl MaskedKey for KeyV6 {
    #[inline(always)]
    fn masked(&self, spec: &KeySpec) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & spec.v6[word]))
    }

    const WORDS: usize = 5;

    #[inline(always)]
    fn words(&self) -> &[u64] {
        &self.0
    }

    #[inline(always)]
    fn from_words(words: &[u64]) -> Self {
        Self(std::array::from_fn(|at| words.get(at).copied().unwrap_or(0)))
    }

    #[inline(always)]
    fn addresses(&self) -> [u128; 2] {
        let [s0, s1, d0, d1, _] = self.0.map(u64::from_be);
        [u128::from(s0) << 64 | u128::from(s1), u128::from(d0) << 64 | u128::from(d1)]
    }

    #[inline(always)]
    fn ports(&self) -> [u16; 2] {
        TransportWord(self.0[4]).ports()
    }

    #[inline(always)]
    fn protocol(&self) -> u8 {
        TransportWord(self.0[4]).protocol()
    }

    #[inline(always)]
    fn without_addresses(&self) -> KeyV4 {
        KeyV4([0, self.0[4]])
    }
}

/// The key that a table's key represents.
fn flow_key(spec: &KeySpec, addresses: impl FnOnce() -> (IpAddr, IpAddr), rest: TransportWord) -> FlowKey {
    let (src_addr, dst_addr) = if spec.has_addresses() {
        let (src, dst) = addresses();
        (spec.has_src_addr().then_some(src), spec.has_dst_addr().then_some(dst))
    } else {
        (None, None)
    };
    let [src_port, dst_port] = rest.ports();
    FlowKey {
        src_addr,
        dst_addr,
        src_port: spec.has_src_port().then_some(src_port),
        dst_port: spec.has_dst_port().then_some(dst_port),
        protocol: spec.has_protocol().then_some(rest.protocol()),
        vlan: spec.has_vlan().then_some(rest.vlan()).filter(|&vlan| vlan != TransportWord::NO_VLAN),
        ip_tos: spec.has_ip_tos().then_some(rest.ip_tos()),
    }
}

/// An IPv4 key in 16 bytes: addresses in network order, then ports, protocol, type of service and VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
#[repr(C)]
pub struct KeyV4([u64; 2]);

/// An IPv6 key in 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
#[repr(C)]
pub struct KeyV6([u64; 5]);

fn word(bytes: &[u8; 16], half: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|i| bytes[half * 8 + i]))
}

/// The parts of a key in addition to its addresses. Parts that are outside the key are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyParts {
    /// Source and destination port.
    pub ports: [u16; 2],
    /// IP protocol number.
    pub protocol: u8,
    /// Type of service or traffic class.
    pub ip_tos: u8,
    /// The VLAN of a key that has one: `Some(None)` where untagged.
    pub vlan: Option<Option<u16>>,
}

impl KeyParts {
    #[inline(always)]
    fn transport(self) -> u64 {
        let [source, destination] = self.ports.map(u16::to_be_bytes);
        let vlan = self.vlan.map_or(0, |vlan| vlan.unwrap_or(TransportWord::NO_VLAN));
        TransportWord::new(
            [source[0], source[1], destination[0], destination[1]],
            self.protocol,
            self.ip_tos,
            vlan,
        )
        .0
    }
}

impl KeyV4 {
    /// A key of addresses in network order, source first, and its other parts.
    #[inline(always)]
    pub fn from_parts([source, destination]: [[u8; 4]; 2], parts: KeyParts) -> Self {
        let [s, d] = [source, destination].map(u32::from_ne_bytes);
        let addresses = if cfg!(target_endian = "little") {
            u64::from(s) | u64::from(d) << 32
        } else {
            u64::from(s) << 32 | u64::from(d)
        };
        Self([addresses, parts.transport()])
    }

    /// A 5-tuple. `addresses`: source then destination as in the header; `ports`: source then destination as in the header.
    #[inline(always)]
    pub fn new(addresses: [u8; 8], ports: [u8; 4], protocol: u8) -> Self {
        Self([u64::from_ne_bytes(addresses), TransportWord::new(ports, protocol, 0, 0).0])
    }

    /// A packet's key under `spec`.
    #[inline(always)]
    pub(crate) fn from_spec(addresses: [u8; 8], rest: TransportWord, spec: &KeySpec) -> Self {
        Self([u64::from_ne_bytes(addresses) & spec.v4[0], rest.0 & spec.v4[1]])
    }

    /// Returns all bytes of the key, in memory's order.
    #[inline(always)]
    pub fn to_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The key of [`KeyV4::to_bytes`].
    #[inline(always)]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(std::array::from_fn(|word| u64::from_ne_bytes(std::array::from_fn(|i| bytes[8 * word + i]))))
    }
}

impl KeyV6 {
    /// A key of addresses in network order, source first, and its other parts.
    #[inline(always)]
    pub fn from_parts([source, destination]: [[u8; 16]; 2], parts: KeyParts) -> Self {
        let (src, dst) = (&source, &destination);
        Self([word(src, 0), word(src, 1), word(dst, 0), word(dst, 1), parts.transport()])
    }

    /// A 5-tuple. `src`, `dst`, `ports` (source first) in network order.
    #[inline(always)]
    pub fn new(src: &[u8; 16], dst: &[u8; 16], ports: [u8; 4], protocol: u8) -> Self {
        let rest = TransportWord::new(ports, protocol, 0, 0).0;
        Self([word(src, 0), word(src, 1), word(dst, 0), word(dst, 1), rest])
    }

    /// A packet's key under `spec`.
    #[inline(always)]
    pub(crate) fn from_spec(src: &[u8; 16], dst: &[u8; 16], rest: TransportWord, spec: &KeySpec) -> Self {
        let whole = [word(src, 0), word(src, 1), word(dst, 0), word(dst, 1), rest.0];
        Self(std::array::from_fn(|i| whole[i] & spec.v6[i]))
    }

    /// Returns all bytes of the key, in memory's order.
    #[inline(always)]
    pub fn to_bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The key of [`KeyV6::to_bytes`].
    #[inline(always)]
    pub fn from_bytes(bytes: [u8; 40]) -> Self {
        Self(std::array::from_fn(|word| u64::from_ne_bytes(std::array::from_fn(|i| bytes[8 * word + i]))))
    }
}

impl Key for KeyV4 {
    #[inline(always)]
    fn family(self) -> Option<FamilyKey> {
        Some(FamilyKey::V4(self))
    }

    #[inline(always)]
    fn family_row(row: WindowRow<Self>) -> Option<FamilyRow> {
        Some(FamilyRow::V4(row))
    }

    #[inline(always)]
    fn hash(&self, seed: &Seed) -> u64 {
        seed.hash2(self.0)
    }

    #[inline(always)]
    fn reversed(&self) -> Self {
        Self([self.0[0].rotate_left(32), TransportWord::reversed(self.0[1])])
    }

    /// Compares both directions as one number each, by two instructions.
    #[inline(always)]
    fn pair(&self) -> (Self, usize) {
        let number = |key: &Self| u128::from(key.0[0]) << 64 | u128::from(key.0[1]);
        let reversed = self.reversed();
        let is_second = number(&reversed) < number(self);
        (if is_second { reversed } else { *self }, is_second.into())
    }

    fn flow_key(&self, spec: &KeySpec) -> FlowKey {
        let addresses = || {
            let a = self.0[0].to_ne_bytes();
            let address = |at: usize| IpAddr::V4(Ipv4Addr::new(a[at], a[at + 1], a[at + 2], a[at + 3]));
            (address(0), address(4))
        };
        flow_key(spec, addresses, TransportWord(self.0[1]))
    }
}

impl Key for KeyV6 {
    #[inline(always)]
    fn family(self) -> Option<FamilyKey> {
        Some(FamilyKey::V6(self))
    }

    #[inline(always)]
    fn family_row(row: WindowRow<Self>) -> Option<FamilyRow> {
        Some(FamilyRow::V6(row))
    }

    #[inline(always)]
    fn hash(&self, seed: &Seed) -> u64 {
        seed.hash5(self.0)
    }

    #[inline(always)]
    fn reversed(&self) -> Self {
        let [s0, s1, d0, d1, rest] = self.0;
        Self([d0, d1, s0, s1, TransportWord::reversed(rest)])
    }

    fn flow_key(&self, spec: &KeySpec) -> FlowKey {
        let address = |high: usize| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&self.0[high].to_ne_bytes());
            bytes[8..].copy_from_slice(&self.0[high + 1].to_ne_bytes());
            IpAddr::V6(Ipv6Addr::from(bytes))
        };
        flow_key(spec, || (address(0), address(2)), TransportWord(self.0[4]))
    }
}
