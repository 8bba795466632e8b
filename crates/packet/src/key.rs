//! Flow keys: the 5-tuple as the tables hold it (IPv4, IPv6) and as people read it.

use crate::Seed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A key that a flow table can hold. All bits take part in equality.
pub trait Key: Copy + Eq + Default + Send + 'static {
    /// A 64-bit hash that nobody without the seed can steer.
    fn hash(&self, seed: &Seed) -> u64;
    /// The key in the form that records carry.
    fn flow_key(&self) -> FlowKey;
}

/// A 5-tuple as flow records carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// Source address.
    pub src_addr: IpAddr,
    /// Destination address.
    pub dst_addr: IpAddr,
    /// Source port; 0 where the protocol has none.
    pub src_port: u16,
    /// Destination port; ICMP: type × 256 + code; 0 where the protocol has none.
    pub dst_port: u16,
    /// IP protocol number (IPv6: of the header after the last extension header).
    pub protocol: u8,
}

/// An IPv4 5-tuple in 16 bytes: addresses in network order, ports and protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub struct KeyV4([u64; 2]);

/// An IPv6 5-tuple in 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub struct KeyV6([u64; 5]);

/// Ports in network order (source first) and the protocol, in one word.
#[inline(always)]
fn transport_word(ports: [u8; 4], protocol: u8) -> u64 {
    u64::from(u32::from_ne_bytes(ports)) | u64::from(protocol) << 32
}

#[inline]
fn split_transport(word: u64) -> (u16, u16, u8) {
    let p = (word as u32).to_ne_bytes();
    (u16::from_be_bytes([p[0], p[1]]), u16::from_be_bytes([p[2], p[3]]), (word >> 32) as u8)
}

fn word(bytes: &[u8; 16], half: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|i| bytes[half * 8 + i]))
}

impl KeyV4 {
    /// `addresses`: source then destination as in the header; `ports`: likewise.
    #[inline(always)]
    pub fn new(addresses: [u8; 8], ports: [u8; 4], protocol: u8) -> Self {
        Self([u64::from_ne_bytes(addresses), transport_word(ports, protocol)])
    }
}

impl KeyV6 {
    /// `src`, `dst`, `ports` (source first) in network order.
    #[inline(always)]
    pub fn new(src: &[u8; 16], dst: &[u8; 16], ports: [u8; 4], protocol: u8) -> Self {
        Self([word(src, 0), word(src, 1), word(dst, 0), word(dst, 1), transport_word(ports, protocol)])
    }
}

impl Key for KeyV4 {
    #[inline(always)]
    fn hash(&self, seed: &Seed) -> u64 {
        seed.hash2(self.0)
    }

    fn flow_key(&self) -> FlowKey {
        let a = self.0[0].to_ne_bytes();
        let (src_port, dst_port, protocol) = split_transport(self.0[1]);
        FlowKey {
            src_addr: IpAddr::V4(Ipv4Addr::new(a[0], a[1], a[2], a[3])),
            dst_addr: IpAddr::V4(Ipv4Addr::new(a[4], a[5], a[6], a[7])),
            src_port,
            dst_port,
            protocol,
        }
    }
}

impl Key for KeyV6 {
    #[inline(always)]
    fn hash(&self, seed: &Seed) -> u64 {
        seed.hash5(self.0)
    }

    fn flow_key(&self) -> FlowKey {
        let address = |high: usize| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&self.0[high].to_ne_bytes());
            bytes[8..].copy_from_slice(&self.0[high + 1].to_ne_bytes());
            IpAddr::V6(Ipv6Addr::from(bytes))
        };
        let (src_port, dst_port, protocol) = split_transport(self.0[4]);
        FlowKey { src_addr: address(0), dst_addr: address(2), src_port, dst_port, protocol }
    }
}
