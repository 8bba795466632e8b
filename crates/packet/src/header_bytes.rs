//! The part of a frame that is headers.

use crate::ip::{IpPacket, protocol};
use crate::parser::{Innermost, innermost};
use crate::{Frame, Tunnel};

const DCCP: u8 = 33;
const ESP: u8 = 50;

/// The captured bytes of a frame up to the end of its transport header, of which nothing is left that an application sent. `tunnel`: whether
/// that is the outer one or the one whose key is measured.
///
/// Of ICMP these are 8 bytes, of ESP its first 8 (SPI and number), of other protocols without ports nothing behind the IP header. Of a
/// fragment that is not the first, and where the IP header cannot be passed over, they end with the IP header (IPv6: 8 bytes behind it,
/// the fragment header). A frame that is not measured has none.
pub fn header_bytes(frame: &Frame<'_>, tunnel: Tunnel) -> usize {
    let Ok(Innermost { packet, header, .. }) = innermost(frame, tunnel) else { return 0 };
    let end = match packet.payload {
        Some(payload) => payload.offset_in(frame.data) + transport_bytes(&packet),
        None => header.offset_in(frame.data) + ip_bytes(header.peek::<1>().map_or(0, |first| first[0])),
    };
    end.min(frame.data.len())
}

/// Bytes of the IP header that begins with this byte.
fn ip_bytes(first: u8) -> usize {
    const FRAGMENT: usize = 8;
    match first >> 4 {
        6 => 40 + FRAGMENT,
        _ => usize::from(first & 0x0f) * 4,
    }
}

fn transport_bytes(packet: &IpPacket<'_>) -> usize {
    match packet.protocol {
        protocol::TCP => {
            let offset =
                packet.payload.and_then(|payload| payload.peek::<13>().ok()).map_or(0, |h| h[12] >> 4);
            usize::from(offset.max(5)) * 4
        }
        protocol::UDP | protocol::UDP_LITE | protocol::ICMP | protocol::ICMPV6 | ESP => 8,
        protocol::SCTP | DCCP => 12,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkType;

    /// An Ethernet frame of IPv4 with this protocol and fragment word, and its payload.
    fn ipv4(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
        let total = (20 + payload.len()) as u16;
        let mut frame = [&[2; 12][..], &[0x08, 0x00, 0x45, 0], &total.to_be_bytes(), &[0, 0]].concat();
        frame.extend(fragment.to_be_bytes());
        frame.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(payload);
        frame
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u16).to_be_bytes();
        [&[2; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0], &length, &[next, 64], &[1; 32], payload].concat()
    }

    fn tcp(words: u8, payload: usize) -> Vec<u8> {
        let mut header = vec![1; usize::from(words) * 4 + payload];
        header[12] = words << 4;
        header
    }

    #[test]
    fn a_frame_is_cut_behind_its_transport_header() {
        let bytes = |data: &[u8], tunnel| {
            let wire_len = data.len().max(75) as u32;
            header_bytes(
                &Frame { data, wire_len, time_ns: 0, link: LinkType::Ethernet, stripped_vlan: None },
                tunnel,
            )
        };
        let outer = |data: &[u8]| bytes(data, Tunnel::Outer);
        assert_eq!(outer(&ipv4(6, 0, &tcp(5, 9))), 14 + 20 + 20);
        assert_eq!(outer(&ipv4(6, 0, &tcp(8, 9))), 14 + 20 + 32);
        assert_eq!(outer(&ipv4(6, 0, &tcp(8, 9))[..60]), 60, "what was captured of it");
        assert_eq!(outer(&ipv4(17, 0, &[0; 30])), 14 + 20 + 8);
        assert_eq!(outer(&ipv4(1, 0, &[8; 30])), 14 + 20 + 8);
        assert_eq!(outer(&ipv4(50, 0, &[8; 30])), 14 + 20 + 8);
        assert_eq!(outer(&ipv4(132, 0, &[8; 30])), 14 + 20 + 12);
        assert_eq!(outer(&ipv4(89, 0, &[8; 30])), 14 + 20);
        // The first fragment, and another one.
        assert_eq!(outer(&ipv4(17, 0x2000, &[0; 30])), 14 + 20 + 8);
        assert_eq!(outer(&ipv4(17, 0x0003, &[0; 30])), 14 + 20);
        assert_eq!(outer(&ipv6(58, &[128; 30])), 14 + 40 + 8);
        let fragment = |offset: u8| [&[17, 0, 0, offset, 0, 0, 0, 1][..], &[0; 30]].concat();
        assert_eq!(outer(&ipv6(44, &fragment(0))), 14 + 40 + 8 + 8);
        assert_eq!(outer(&ipv6(44, &fragment(8))), 14 + 40 + 8);
        // ARP.
        assert_eq!(outer(&[&[2; 12][..], &[0x08, 0x06], &[0; 28]].concat()), 0);
        // IPv4 in IPv4.
        let inside = ipv4(17, 0, &[0; 30])[14..].to_vec();
        let tunnelled = ipv4(4, 0, &inside);
        assert_eq!(bytes(&tunnelled, Tunnel::Outer), 14 + 20);
        assert_eq!(bytes(&tunnelled, Tunnel::Inner), 14 + 20 + 20 + 8);
    }
}
