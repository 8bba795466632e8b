//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers down to the ports.

use crate::bytes::{ByteCursor, HeaderBudget, Short, be16, be32};
use crate::link_header::Announced;
use crate::transport::TransportWord;
use crate::{KeySpec, KeyV4, KeyV6, NotMeasured, PacketFields, Remark, TcpSegment};

/// IP protocol numbers that are distinguished here.
pub(crate) mod protocol {
    pub(crate) const HOP_BY_HOP: u8 = 0;
    pub(crate) const ICMP: u8 = 1;
    pub(crate) const IPV4: u8 = 4;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const IPV6: u8 = 41;
    pub(crate) const ROUTING: u8 = 43;
    pub(crate) const FRAGMENT: u8 = 44;
    pub(crate) const GRE: u8 = 47;
    pub(crate) const AH: u8 = 51;
    pub(crate) const ICMPV6: u8 = 58;
    pub(crate) const DESTINATION_OPTIONS: u8 = 60;
    pub(crate) const SCTP: u8 = 132;
    pub(crate) const UDP_LITE: u8 = 136;
}

/// The addresses of an IP header.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HeaderAddresses {
    V4([u8; 8]),
    V6([u8; 16], [u8; 16]),
}

/// The key of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKey {
    /// IPv4.
    V4(KeyV4),
    /// IPv6.
    V6(KeyV6),
}

/// A parsed IP header.
#[derive(Debug)]
pub(crate) struct IpPacket<'a> {
    addresses: HeaderAddresses,
    /// Protocol after extension headers and AH.
    pub(crate) protocol: u8,
    /// Ports in network order, source first; ICMP: type and code as destination.
    pub(crate) ports: [u8; 4],
    /// The fields that the header provides for the record; times, lengths of the frame and link fields are the caller's.
    pub(crate) fields: PacketFields,
    /// The bytes from the transport header on, without padding; `None` in a fragment that is not the first.
    pub(crate) payload: Option<ByteCursor<'a>>,
    /// The reason why the ports are 0 though the protocol has some.
    pub(crate) remark: Option<Remark>,
    /// True if the snap length cut what stands before the payload, or before the ports.
    pub(crate) payload_truncated: bool,
    /// True if the snap length cut the header after which `protocol` is.
    pub(crate) protocol_truncated: bool,
    /// True if it has, or may have, a TCP header that the snap length cut before the window.
    pub(crate) tcp_truncated: bool,
    /// True for every fragment, including the first one.
    pub(crate) fragment: bool,
}

impl IpPacket<'_> {
    /// The addresses of its header.
    pub(crate) fn addresses(&self) -> &HeaderAddresses {
        &self.addresses
    }

    /// Returns the packet's key under `spec`. Without addresses, packets of both families have the same keys.
    pub(crate) fn key(&self, spec: &KeySpec, vlan: u16) -> PacketKey {
        let rest = TransportWord::new(self.ports, self.protocol, self.fields.ip_tos, vlan);
        match &self.addresses {
            HeaderAddresses::V4(a) => PacketKey::V4(KeyV4::from_spec(*a, rest, spec)),
            HeaderAddresses::V6(src, dst) if spec.has_addresses() => {
                PacketKey::V6(KeyV6::from_spec(src, dst, rest, spec))
            }
            HeaderAddresses::V6(..) => PacketKey::V4(KeyV4::from_spec([0; 8], rest, spec)),
        }
    }

    /// Returns the packet's TCP segment, if it is one.
    pub(crate) fn segment(&self) -> TcpSegment {
        match self.payload {
            Some(bytes) if self.protocol == protocol::TCP => TcpSegment::read(bytes),
            _ => TcpSegment::NONE,
        }
    }
}

fn malformed(short: Short) -> NotMeasured {
    short.or(NotMeasured::MalformedIp)
}

/// Parses the IP header at `bytes`, which is the one that was `announced`. `in_fragment`: a packet around it is a first fragment, so that
/// its own may end in another frame.
pub(crate) fn parse<'a>(
    announced: Announced,
    bytes: ByteCursor<'a>,
    in_fragment: bool,
    budget: &mut HeaderBudget,
) -> Result<IpPacket<'a>, NotMeasured> {
    let version = bytes.peek::<1>().map_err(malformed)?[0] >> 4;
    match (announced, version) {
        (Announced::Ipv4 | Announced::Ip, 4) => ipv4(bytes, in_fragment, budget),
        (Announced::Ipv6 | Announced::Ip, 6) => ipv6(bytes, in_fragment, budget),
        _ => Err(NotMeasured::MalformedIp),
    }
}

fn ipv4<'a>(
    mut bytes: ByteCursor<'a>,
    in_fragment: bool,
    budget: &mut HeaderBudget,
) -> Result<IpPacket<'a>, NotMeasured> {
    let h = bytes.peek::<20>().map_err(malformed)?;
    let header_len = usize::from(h[0] & 0x0f) * 4;
    if header_len < 20 {
        return Err(NotMeasured::MalformedIp);
    }
    let total = match usize::from(be16(h, 2)) {
        // Segmentation offload leaves the length to the card: the frame's length is used.
        0 => bytes.wire_len(),
        stated => stated,
    };
    if in_fragment {
        bytes = bytes.extend_to(total);
    }
    if total < header_len || total > bytes.wire_len() {
        return Err(NotMeasured::BadLength);
    }
    let first_fragment = be16(h, 6) & 0x1fff == 0;
    let addresses = HeaderAddresses::V4(std::array::from_fn(|i| h[12 + i]));
    let fields = PacketFields { total_byte: total as u32, ip_ttl: h[8], ip_tos: h[1], ..Default::default() };
    let fragment = be16(h, 6) & 0x3fff != 0;
    let mut packet = IpPacket {
        addresses,
        protocol: h[9],
        ports: [0; 4],
        fields,
        payload: None,
        remark: None,
        payload_truncated: false,
        protocol_truncated: false,
        tcp_truncated: false,
        fragment,
    };
    let mut payload = bytes.limit(total);
    if first_fragment {
        match payload.skip(header_len) {
            Ok(()) => {
                packet.payload = Some(payload);
                walk(&mut packet, budget)?;
                transport(&mut packet);
            }
            Err(short) => {
                packet.remark = port_remark(packet.protocol, short);
                packet.payload_truncated = short == Short::Captured;
                packet.protocol_truncated = packet.protocol == protocol::AH && short == Short::Captured;
                let may_have = matches!(packet.protocol, protocol::TCP | protocol::AH);
                packet.tcp_truncated = may_have && short == Short::Captured;
            }
        }
    }
    Ok(packet)
}

fn ipv6<'a>(
    mut bytes: ByteCursor<'a>,
    in_fragment: bool,
    budget: &mut HeaderBudget,
) -> Result<IpPacket<'a>, NotMeasured> {
    let h = bytes.peek::<40>().map_err(malformed)?;
    let total = match usize::from(be16(h, 4)) {
        // Segmentation offload and jumbograms (RFC 2675): the frame's length is used.
        0 => bytes.wire_len(),
        stated => 40 + stated,
    };
    if in_fragment {
        bytes = bytes.extend_to(total);
    }
    if total > bytes.wire_len() {
        return Err(NotMeasured::BadLength);
    }
    let mut payload = bytes;
    payload.skip(40).map_err(malformed)?;
    let addresses =
        HeaderAddresses::V6(std::array::from_fn(|i| h[8 + i]), std::array::from_fn(|i| h[24 + i]));
    let ip_tos = (be16(h, 0) >> 4) as u8;
    let fields = PacketFields { total_byte: total as u32, ip_ttl: h[7], ip_tos, ..Default::default() };
    let payload = Some(payload.limit(total - 40));
    let mut packet = IpPacket {
        addresses,
        protocol: h[6],
        ports: [0; 4],
        fields,
        payload,
        remark: None,
        payload_truncated: false,
        protocol_truncated: false,
        tcp_truncated: false,
        fragment: false,
    };
    walk(&mut packet, budget)?;
    transport(&mut packet);
    Ok(packet)
}

/// Passes over IPv6 extension headers and, in both versions, AH (RFC 4302): the header after them has the
/// ports. Mobility, HIP and shim6 headers count as upper-layer protocols: in use, nothing with ports follows
/// them.
fn walk(packet: &mut IpPacket<'_>, budget: &mut HeaderBudget) -> Result<(), NotMeasured> {
    use protocol::*;
    let is_v6 = matches!(packet.addresses, HeaderAddresses::V6(..));
    while let Some(mut rest) = packet.payload {
        match packet.protocol {
            AH => {}
            HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS if is_v6 => {}
            _ => break,
        }
        budget.spend()?;
        let (header, kind) = (rest.peek::<8>(), packet.protocol);
        let passed = header.and_then(|h| {
            let length = match kind {
                FRAGMENT => 8,
                AH => (usize::from(h[1]) + 2) * 4,
                _ => (usize::from(h[1]) + 1) * 8,
            };
            rest.skip(length).map(|()| h)
        });
        match passed {
            Ok(h) => {
                packet.protocol = h[0];
                packet.fragment |= kind == FRAGMENT;
                let later_fragment = kind == FRAGMENT && be16(h, 2) & 0xfff8 != 0;
                packet.payload = (!later_fragment).then_some(rest);
            }
            Err(short) => {
                packet.payload = None;
                packet.remark = Some(missing(short));
                packet.payload_truncated = short == Short::Captured;
                packet.protocol_truncated = packet.payload_truncated;
                packet.tcp_truncated = packet.payload_truncated;
            }
        }
    }
    Ok(())
}

fn missing(short: Short) -> Remark {
    match short {
        Short::Captured => Remark::PortsTruncated,
        Short::Wire => Remark::PortsMissing,
    }
}

fn port_remark(number: u8, short: Short) -> Option<Remark> {
    use protocol::*;
    matches!(number, TCP | UDP | SCTP | UDP_LITE | ICMP | ICMPV6 | AH).then(|| missing(short))
}

/// Ports, ICMP type and code, and the TCP fields of the record.
fn transport(packet: &mut IpPacket<'_>) {
    use protocol::*;
    let Some(payload) = packet.payload else { return };
    let read = match packet.protocol {
        TCP | UDP | SCTP | UDP_LITE => payload.peek::<4>().copied(),
        ICMP | ICMPV6 => payload.peek::<2>().map(|h| [0, 0, h[0], h[1]]),
        _ => return,
    };
    match read {
        Ok(ports) => packet.ports = ports,
        Err(short) => {
            packet.remark = Some(missing(short));
            packet.payload_truncated = short == Short::Captured;
        }
    }
    if packet.protocol == TCP {
        match payload.peek::<16>() {
            Ok(h) => tcp(h, &mut packet.fields),
            Err(short) => packet.tcp_truncated = short == Short::Captured,
        }
    }
}

/// The TCP fields of the record (RFC 9293, section 3.1) from the first 16 bytes of the header.
fn tcp(h: &[u8; 16], fields: &mut PacketFields) {
    fields.tcp_seq = be32(h, 4);
    fields.tcp_ack = be32(h, 8);
    fields.tcp_flags = h[13];
    fields.tcp_win = be16(h, 14);
}
