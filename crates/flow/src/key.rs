//! The key of a flow record.

use std::net::IpAddr;

/// A key as flow records carry it: by default the 5-tuple. Parts outside the run's key are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// Source address, or its prefix.
    pub src_addr: Option<IpAddr>,
    /// Destination address, or its prefix.
    pub dst_addr: Option<IpAddr>,
    /// Source port; 0 where the protocol has none.
    pub src_port: Option<u16>,
    /// Destination port; ICMP: type × 256 + code; 0 where the protocol has none.
    pub dst_port: Option<u16>,
    /// IP protocol number (IPv6: of the header after the last extension header).
    pub protocol: Option<u8>,
    /// Outermost VLAN identifier; also `None` if the frame has no tag.
    pub vlan: Option<u16>,
    /// Type of service or traffic class, the whole octet.
    pub ip_tos: Option<u8>,
}

impl FlowKey {
    /// A 5-tuple.
    pub fn five_tuple(
        (src_addr, src_port): (IpAddr, u16),
        (dst_addr, dst_port): (IpAddr, u16),
        protocol: u8,
    ) -> Self {
        Self {
            src_addr: Some(src_addr),
            dst_addr: Some(dst_addr),
            src_port: Some(src_port),
            dst_port: Some(dst_port),
            protocol: Some(protocol),
            vlan: None,
            ip_tos: None,
        }
    }
}
