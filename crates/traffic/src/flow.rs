//! Computes a flow's 5-tuple from its rank: it is not stored, and never the same for two ranks.
//!
//! Ranks `2k` and `2k + 1` are the two directions of one conversation between a client inside (10.0.0.0/12,
//! 2001:db8::/48) and a server outside (128.0.0.0/2, 2001:db8:8000::/48). A permutation of `k` supplies 50 bits: the client (20),
//! the server (16) and the client's port (14, the dynamic range); as echo requests have no ports, their 14 bits
//! choose the server's low address bits instead.

use crate::permutation::Permutation;
use packet::{FlowKey, KeyV4, KeyV6};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

const CLIENT_BITS: u32 = 20;
const PORT_BITS: u32 = 14;
const SERVER_BITS: u32 = 16;
/// Number of clients inside.
pub(crate) const CLIENTS: u32 = 1 << CLIENT_BITS;
/// The first port of the dynamic range (RFC 6335), which holds `2^PORT_BITS` ports.
const DYNAMIC_PORTS: u16 = 49152;

/// The addresses of a flow, in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressPair {
    V4 { src: [u8; 4], dst: [u8; 4] },
    V6 { src: [u8; 16], dst: [u8; 16] },
}

/// The common properties of all packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowProfile {
    pub(crate) addresses: AddressPair,
    pub(crate) src_port: u16,
    /// ICMP: type × 256 + code.
    pub(crate) dst_port: u16,
    pub(crate) protocol: u8,
    pub(crate) ttl: u8,
    /// True if the flow goes from a client inside to the world.
    pub(crate) outbound: bool,
    /// The first sequence number; TCP only.
    pub(crate) initial_seq: u32,
}

impl FlowProfile {
    /// The first sequence number of the other direction of the conversation.
    #[inline]
    pub(crate) fn initial_seq_of_other(&self) -> u32 {
        !self.initial_seq
    }

    pub(crate) fn key(&self) -> FlowKey {
        let (src_addr, dst_addr) = match self.addresses {
            AddressPair::V4 { src, dst } => {
                (IpAddr::V4(Ipv4Addr::from(src)), IpAddr::V4(Ipv4Addr::from(dst)))
            }
            AddressPair::V6 { src, dst } => {
                (IpAddr::V6(Ipv6Addr::from(src)), IpAddr::V6(Ipv6Addr::from(dst)))
            }
        };
        let Self { src_port, dst_port, protocol, .. } = *self;
        FlowKey::five_tuple((src_addr, src_port), (dst_addr, dst_port), protocol)
    }
}

/// A conversation, before it has an address family and a direction.
#[derive(Clone, Copy, Debug)]
struct ConversationSpec {
    client: u32,
    server: u16,
    /// Drawn once per conversation: protocol, service and the like.
    noise: u64,
    transport: TransportKind,
    /// The server's low `PORT_BITS` address bits.
    low: u16,
    client_port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransportKind {
    Tcp,
    Udp,
    Echo,
}

/// Echo request and reply.
const ECHO_V4: [u8; 2] = [8, 0];
const ECHO_V6: [u8; 2] = [128, 129];

/// The ports of servers; one that is listed more often is drawn more often.
const TCP_SERVICES: [u16; 8] = [443, 443, 443, 443, 80, 80, 22, 25];
const UDP_SERVICES: [u16; 4] = [443, 443, 53, 53];

/// The flows of a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flows {
    conversations: Permutation,
    noise_seed: u64,
    ipv6_ppm: u32,
}

impl Flows {
    pub(crate) fn new(ipv6_ppm: u32, seeds: &mut SplitMix64) -> Self {
        let bits = CLIENT_BITS + SERVER_BITS + PORT_BITS;
        Self { conversations: Permutation::draw(bits, seeds), noise_seed: seeds.next_u64(), ipv6_ppm }
    }

    /// The flow of a rank, in the family determined by the share of IPv6.
    #[inline]
    pub(crate) fn flow(&self, rank: u32) -> FlowProfile {
        let (conversation, outbound) = self.conversation(rank);
        // Some high bits of the noise, scaled to a million.
        let ppm = (((conversation.noise >> 26) & 0xffff_ffff) * 1_000_000) >> 32;
        if ppm < u64::from(self.ipv6_ppm) {
            let (src, dst) = conversation.ipv6(outbound);
            let ports = conversation.ports(outbound, ICMPV6, ECHO_V6);
            conversation.flow(AddressPair::V6 { src, dst }, ports, outbound)
        } else {
            let (src, dst) = conversation.ipv4(outbound);
            let ports = conversation.ports(outbound, ICMP, ECHO_V4);
            conversation.flow(AddressPair::V4 { src, dst }, ports, outbound)
        }
    }

    /// The IPv4 key of a rank, for any share of IPv6.
    #[inline]
    pub(crate) fn key_v4(&self, rank: u32) -> KeyV4 {
        let (conversation, outbound) = self.conversation(rank);
        let (src, dst) = conversation.ipv4(outbound);
        let (ports, protocol) = conversation.ports(outbound, ICMP, ECHO_V4);
        let mut addresses = [0; 8];
        addresses[..4].copy_from_slice(&src);
        addresses[4..].copy_from_slice(&dst);
        KeyV4::new(addresses, network_order(ports), protocol)
    }

    /// The IPv6 key of a rank, for any share of IPv6.
    #[inline]
    pub(crate) fn key_v6(&self, rank: u32) -> KeyV6 {
        let (conversation, outbound) = self.conversation(rank);
        let (src, dst) = conversation.ipv6(outbound);
        let (ports, protocol) = conversation.ports(outbound, ICMPV6, ECHO_V6);
        KeyV6::new(&src, &dst, network_order(ports), protocol)
    }

    /// The conversation of a rank, and whether the rank is its outbound direction.
    #[inline]
    fn conversation(&self, rank: u32) -> (ConversationSpec, bool) {
        let bits = self.conversations.at(u64::from(rank >> 1));
        let client = bits as u32 & ((1 << CLIENT_BITS) - 1);
        let server = (bits >> CLIENT_BITS) as u16;
        let port = (bits >> (CLIENT_BITS + SERVER_BITS)) as u16;
        let noise = SplitMix64::seed_from_u64(bits ^ self.noise_seed).next_u64();
        let transport = match noise & 63 {
            0 => TransportKind::Echo,
            1..=14 => TransportKind::Udp,
            _ => TransportKind::Tcp,
        };
        let server_low = (u32::from(server).wrapping_mul(0x9e37_79b1) >> (32 - PORT_BITS)) as u16;
        let (low, client_port) = match transport {
            TransportKind::Echo => (port, 0),
            TransportKind::Tcp | TransportKind::Udp => (server_low, DYNAMIC_PORTS | port),
        };
        (ConversationSpec { client, server, noise: noise >> 6, transport, low, client_port }, rank & 1 == 0)
    }
}

impl ConversationSpec {
    /// Source and destination address.
    #[inline]
    fn ipv4(&self, outbound: bool) -> ([u8; 4], [u8; 4]) {
        let server = 0x8000_0000 | u32::from(self.server) << PORT_BITS | u32::from(self.low);
        directed(client_v4(self.client), server.to_be_bytes(), outbound)
    }

    /// Source and destination address.
    #[inline]
    fn ipv6(&self, outbound: bool) -> ([u8; 16], [u8; 16]) {
        let interface = u64::from(self.client).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let client = address_v6(0x2001_0db8_0000_0000 | u64::from(self.client >> 8), interface);
        let server =
            address_v6(0x2001_0db8_8000_0000 | u64::from(self.server), 1 << 32 | u64::from(self.low));
        directed(client, server, outbound)
    }

    /// Source port, destination port (of an echo: type and code) and protocol.
    #[inline]
    fn ports(&self, outbound: bool, icmp: u8, [request, reply]: [u8; 2]) -> ((u16, u16), u8) {
        let (service, protocol) = match self.transport {
            TransportKind::Tcp => (TCP_SERVICES[self.noise as usize % TCP_SERVICES.len()], TCP),
            TransportKind::Udp => (UDP_SERVICES[self.noise as usize % UDP_SERVICES.len()], UDP),
            TransportKind::Echo => {
                return ((0, u16::from(if outbound { request } else { reply }) << 8), icmp);
            }
        };
        (directed(self.client_port, service, outbound), protocol)
    }

    #[inline]
    fn flow(&self, addresses: AddressPair, ports: ((u16, u16), u8), outbound: bool) -> FlowProfile {
        let ((src_port, dst_port), protocol) = ports;
        // Systems start at 64 or 128; packets from outside have crossed some routers.
        let initial_ttl = if self.noise & 8 == 0 { 64 } else { 128 };
        let hops = if outbound { 1 } else { 2 + (self.noise >> 4 & 15) as u8 };
        let initial_seq = (self.noise >> 16) as u32 ^ u32::from(outbound).wrapping_neg();
        FlowProfile {
            addresses,
            src_port,
            dst_port,
            protocol,
            ttl: initial_ttl - hops,
            outbound,
            initial_seq,
        }
    }
}

/// Source and destination from the client's side and the server's.
#[inline]
fn directed<T>(client: T, server: T, outbound: bool) -> (T, T) {
    if outbound { (client, server) } else { (server, client) }
}

#[inline]
fn network_order((src, dst): (u16, u16)) -> [u8; 4] {
    let ([a, b], [c, d]) = (src.to_be_bytes(), dst.to_be_bytes());
    [a, b, c, d]
}

/// A client's address by its number; numbers beyond `CLIENTS` start again.
#[inline]
pub(crate) fn client_v4(client: u32) -> [u8; 4] {
    (0x0a00_0000 | (client % CLIENTS)).to_be_bytes()
}

#[inline]
fn address_v6(network: u64, interface: u64) -> [u8; 16] {
    (u128::from(network) << 64 | u128::from(interface)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{Key, KeySpec};
    use std::collections::HashSet;

    #[test]
    fn a_million_ranks_have_a_million_keys() {
        const RANKS: u32 = 1_000_000;
        for seed in [0, 1, 77] {
            let flows = Flows::new(300_000, &mut SplitMix64::seed_from_u64(seed));
            let mixed: HashSet<FlowKey> = (0..RANKS).map(|rank| flows.flow(rank).key()).collect();
            assert_eq!(mixed.len(), RANKS as usize);
            let v4: HashSet<KeyV4> = (0..RANKS).map(|rank| flows.key_v4(rank)).collect();
            assert_eq!(v4.len(), RANKS as usize);
            let v6: HashSet<KeyV6> = (0..RANKS).map(|rank| flows.key_v6(rank)).collect();
            assert_eq!(v6.len(), RANKS as usize);
            let ipv6_share = mixed.iter().filter(|key| key.src_addr.unwrap().is_ipv6()).count() as f64 / 1e6;
            assert!((ipv6_share - 0.3).abs() < 0.005, "{ipv6_share}");
            for (protocol, share) in [(TCP, 49.0 / 64.0), (UDP, 14.0 / 64.0)] {
                let drawn = mixed.iter().filter(|key| key.protocol == Some(protocol)).count() as f64 / 1e6;
                assert!((drawn - share).abs() < 0.005, "protocol {protocol}: {drawn}");
            }
        }
    }

    #[test]
    fn a_table_key_is_the_flow_key() {
        for (ppm, rank) in [0, 1_000_000].into_iter().flat_map(|ppm| (0..2000).map(move |rank| (ppm, rank))) {
            let flows = Flows::new(ppm, &mut SplitMix64::seed_from_u64(5));
            let five = &KeySpec::FIVE_TUPLE;
            let key =
                if ppm == 0 { flows.key_v4(rank).flow_key(five) } else { flows.key_v6(rank).flow_key(five) };
            assert_eq!(key, flows.flow(rank).key());
        }
    }

    #[test]
    fn neighbours_are_the_two_directions() {
        let flows = Flows::new(500_000, &mut SplitMix64::seed_from_u64(9));
        for rank in (0..10_000).step_by(2) {
            let (there, back) = (flows.flow(rank).key(), flows.flow(rank + 1).key());
            assert_eq!((there.src_addr, there.dst_addr), (back.dst_addr, back.src_addr));
            if there.protocol == Some(TCP) || there.protocol == Some(UDP) {
                assert_eq!((there.src_port, there.dst_port), (back.dst_port, back.src_port));
            }
        }
    }
}
