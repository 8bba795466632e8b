//! Ethernet, IP and transport headers of a packet whose payload is zeros, with correct lengths and checksums.

use crate::flow::{AddressPair, FlowProfile, ICMP, ICMPV6, TCP, UDP};

/// Length of the Ethernet header.
pub(crate) const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP_HEADER: usize = 20;
/// UDP and ICMP echo.
const SHORT_HEADER: usize = 8;
/// Ethernet, IPv4, TCP.
pub(crate) const TCP_OVER_IPV4: usize = ETHERNET + IPV4 + TCP_HEADER;
/// Ethernet, IPv6, TCP: the longest headers.
pub(crate) const LONGEST: usize = ETHERNET + IPV6 + TCP_HEADER;

/// Locally administered addresses of the two sides of the observation point.
const INSIDE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OUTSIDE: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// A packet's position in its flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPosition {
    /// TCP: sequence and acknowledgement number.
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// TCP flags.
    pub(crate) tcp_flags: u8,
    /// IPv4 identification, echo sequence number.
    pub(crate) id: u16,
}

/// Length of all headers of a flow's packets: the least that a frame can have.
pub(crate) fn length(flow: &FlowProfile) -> usize {
    let ip = match flow.addresses {
        AddressPair::V4 { .. } => IPV4,
        AddressPair::V6 { .. } => IPV6,
    };
    ETHERNET + ip + transport_length(flow.protocol)
}

fn transport_length(protocol: u8) -> usize {
    if protocol == TCP { TCP_HEADER } else { SHORT_HEADER }
}

/// The headers of a packet whose IP header states `total_byte` (at most 65,535), followed by zeros.
#[inline]
pub(crate) fn build(flow: &FlowProfile, position: &FlowPosition, total_byte: u32) -> [u8; LONGEST] {
    let mut out = [0; LONGEST];
    let (destination, source) = if flow.outbound { (OUTSIDE, INSIDE) } else { (INSIDE, OUTSIDE) };
    out[..6].copy_from_slice(&destination);
    out[6..12].copy_from_slice(&source);
    match flow.addresses {
        AddressPair::V4 { src, dst } => {
            out[12] = 0x08;
            let (ip, transport) = out[ETHERNET..].split_at_mut(IPV4);
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&(total_byte as u16).to_be_bytes());
            ip[4..6].copy_from_slice(&position.id.to_be_bytes());
            ip[6] = 0x40; // do not fragment
            ip[8] = flow.ttl;
            ip[9] = flow.protocol;
            ip[12..16].copy_from_slice(&src);
            ip[16..20].copy_from_slice(&dst);
            let checksum = checksum(sum(ip));
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
            fill_transport(transport, flow, position, total_byte - IPV4 as u32, sum(&ip[12..20]));
        }
        AddressPair::V6 { src, dst } => {
            out[12..14].copy_from_slice(&[0x86, 0xdd]);
            let (ip, transport) = out[ETHERNET..].split_at_mut(IPV6);
            ip[0] = 0x60;
            let payload = total_byte - IPV6 as u32;
            ip[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
            ip[6] = flow.protocol;
            ip[7] = flow.ttl;
            ip[8..24].copy_from_slice(&src);
            ip[24..40].copy_from_slice(&dst);
            fill_transport(transport, flow, position, payload, sum(&ip[8..40]));
        }
    }
    out
}

/// Fills the transport header. `length` is that of transport header and payload; `addresses` is the sum of the addresses, for the pseudo header.
#[inline]
fn fill_transport(out: &mut [u8], flow: &FlowProfile, position: &FlowPosition, length: u32, addresses: u32) {
    let out = &mut out[..transport_length(flow.protocol)];
    let pseudo_header = addresses + length + u32::from(flow.protocol);
    match flow.protocol {
        TCP => {
            fill_ports(out, flow);
            out[4..8].copy_from_slice(&position.seq.to_be_bytes());
            out[8..12].copy_from_slice(&position.ack.to_be_bytes());
            out[12] = (TCP_HEADER as u8 / 4) << 4;
            out[13] = position.tcp_flags;
            out[14..16].copy_from_slice(&[0xfa, 0xf0]); // 64,240: a usual window
            let checksum = checksum(pseudo_header + sum(out));
            out[16..18].copy_from_slice(&checksum.to_be_bytes());
        }
        UDP => {
            fill_ports(out, flow);
            out[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            // Zero would mean that there is no checksum (RFC 768).
            let checksum = match checksum(pseudo_header + sum(out)) {
                0 => 0xffff,
                other => other,
            };
            out[6..8].copy_from_slice(&checksum.to_be_bytes());
        }
        _ => {
            out[..2].copy_from_slice(&flow.dst_port.to_be_bytes());
            out[4..6].copy_from_slice(&((flow.initial_seq >> 16) as u16).to_be_bytes());
            out[6..8].copy_from_slice(&position.id.to_be_bytes());
            let covered = if flow.protocol == ICMPV6 { pseudo_header } else { 0 };
            debug_assert!(flow.protocol == ICMP || flow.protocol == ICMPV6);
            let checksum = checksum(covered + sum(out));
            out[2..4].copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

#[inline]
fn fill_ports(out: &mut [u8], flow: &FlowProfile) {
    out[..2].copy_from_slice(&flow.src_port.to_be_bytes());
    out[2..4].copy_from_slice(&flow.dst_port.to_be_bytes());
}

/// The sum of the 16-bit words of at most some thousand bytes, an even number.
#[inline]
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// The Internet checksum (RFC 1071) from a sum of words.
#[inline]
fn checksum(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
