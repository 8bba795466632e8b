//! The fields of a frame that a card hashes to choose its receive queue.

use crate::bytes::HeaderBudget;
use crate::ip::{self, HeaderAddresses, protocol};
use crate::{Frame, Toeplitz, link_header};

impl Toeplitz {
    /// The hash of a frame's outermost addresses, and of the ports if it is TCP or UDP and no fragment: a
    /// fragment that is not the first has none, and all fragments of a datagram should reach one queue.
    /// `None` without an IP header that can be parsed.
    pub fn frame(&self, frame: &Frame<'_>) -> Option<u32> {
        let mut budget = HeaderBudget::new();
        let (_, announced, bytes) = link_header::parse(frame, &mut budget).ok()?;
        let packet = ip::parse(announced, bytes, false, &mut budget).ok()?;
        // Ports that the snap length cut are not hashed either; a card sees the whole frame.
        let has_ports = matches!(packet.protocol, protocol::TCP | protocol::UDP)
            && !packet.fragment
            && packet.remark.is_none();
        Some(match (packet.addresses(), has_ports) {
            (HeaderAddresses::V4(addresses), false) => self.ipv4(addresses),
            (HeaderAddresses::V4(addresses), true) => self.ipv4_ports(addresses, &packet.ports),
            (HeaderAddresses::V6(src, dst), false) => self.ipv6(src, dst),
            (HeaderAddresses::V6(src, dst), true) => self.ipv6_ports(src, dst, &packet.ports),
        })
    }
}
