//! The headers inside a tunnel: IP-in-IP (RFC 2003), 6in4 (RFC 4213), GRE (RFC 2784, 2890; version 1 RFC 2637) with NVGRE (RFC 7637) and
//! ERSPAN, VXLAN (RFC 7348), Geneve (RFC 8926), GTP-U (3GPP TS 29.281).

use crate::bytes::{ByteCursor, HeaderBudget, Short, be16};
use crate::ip::{IpPacket, protocol};
use crate::link_header::{self, Announced, ETHERTYPE_BRIDGED};
use crate::{NotMeasured, PacketFields};

const VXLAN: u16 = 4789;
/// Linux's default before the number was assigned.
const VXLAN_OLD: u16 = 8472;
const GENEVE: u16 = 6081;
const GTP_U: u16 = 2152;

const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
const GRE_PPP: u16 = 0x880b;

fn malformed(short: Short) -> NotMeasured {
    short.or(NotMeasured::MalformedLink)
}

/// The IP header inside of `outer`: `None` if it is no tunnel, an error if the headers before it cannot be
/// parsed, which is [`NotMeasured::Truncated`] where it may be a tunnel and the snap length cut what tells it.
pub(crate) fn enter<'a>(
    outer: &IpPacket<'a>,
    budget: &mut HeaderBudget,
) -> Option<Result<(Announced, ByteCursor<'a>), NotMeasured>> {
    let src_port = be16(&outer.ports, 0);
    let dst_port = be16(&outer.ports, 2);
    let kind = match (outer.protocol, dst_port) {
        (protocol::IPV4, _) => TunnelKind::Ip(Announced::Ipv4),
        (protocol::IPV6, _) => TunnelKind::Ip(Announced::Ipv6),
        (protocol::GRE, _) => TunnelKind::Gre,
        (protocol::UDP, VXLAN | VXLAN_OLD) => TunnelKind::Vxlan,
        (protocol::UDP, GENEVE) => TunnelKind::Geneve,
        (protocol::UDP, _) if dst_port == GTP_U || src_port == GTP_U => TunnelKind::GtpU,
        (protocol::UDP, _) if outer.payload_truncated => return Some(Err(NotMeasured::Truncated)),
        _ if outer.protocol_truncated => return Some(Err(NotMeasured::Truncated)),
        _ => return None,
    };
    // A later fragment of a tunnel packet has no inner header.
    let without = if outer.payload_truncated { NotMeasured::Truncated } else { NotMeasured::NotIp };
    let bytes = outer.payload.ok_or(without);
    Some(bytes.and_then(|bytes| inside(kind, bytes, budget)))
}

/// The tunnels, by the headers to be passed over.
enum TunnelKind {
    Ip(Announced),
    Gre,
    Vxlan,
    Geneve,
    GtpU,
}

fn inside<'a>(
    kind: TunnelKind,
    mut bytes: ByteCursor<'a>,
    budget: &mut HeaderBudget,
) -> Result<(Announced, ByteCursor<'a>), NotMeasured> {
    const UDP_HEADER: usize = 8;
    budget.spend()?;
    if matches!(kind, TunnelKind::Vxlan | TunnelKind::Geneve | TunnelKind::GtpU) {
        bytes.skip(UDP_HEADER).map_err(malformed)?;
    }
    let announced = match kind {
        TunnelKind::Ip(announced) => announced,
        TunnelKind::Gre => gre(&mut bytes, budget)?,
        TunnelKind::Vxlan => vxlan(&mut bytes, budget)?,
        TunnelKind::Geneve => geneve(&mut bytes, budget)?,
        TunnelKind::GtpU => gtp_u(&mut bytes, budget)?,
    };
    Ok((announced, bytes))
}

/// The EtherType of a tunnel's payload: a bridged frame, or what may be in a frame.
fn payload(
    kind: u16,
    bytes: &mut ByteCursor<'_>,
    budget: &mut HeaderBudget,
) -> Result<Announced, NotMeasured> {
    // The record's VLAN is the outer frame's.
    let mut vlan = PacketFields::NO_VLAN;
    match kind {
        ETHERTYPE_BRIDGED => link_header::ethernet(bytes, &mut vlan, budget),
        _ => link_header::ethertype(kind, bytes, &mut vlan, budget),
    }
}

fn gre(bytes: &mut ByteCursor<'_>, budget: &mut HeaderBudget) -> Result<Announced, NotMeasured> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGEMENT: u16 = 0x0080;
    let h = bytes.take::<4>().map_err(malformed)?;
    let (flags, kind) = (be16(h, 0), be16(h, 2));
    let word = |flag: u16| if flags & flag != 0 { 4 } else { 0 };
    match flags & 7 {
        0 => {
            // Source routes (RFC 1701) have no bound; RFC 2784 requires that they are dropped.
            if flags & ROUTING != 0 {
                return Err(NotMeasured::MalformedLink);
            }
            bytes.skip(word(CHECKSUM) + word(KEY) + word(SEQUENCE)).map_err(malformed)?;
        }
        1 => bytes.skip(word(KEY) + word(SEQUENCE) + word(ACKNOWLEDGEMENT)).map_err(malformed)?,
        _ => return Err(NotMeasured::MalformedLink),
    }
    match kind {
        // Type I has neither a sequence number nor a header.
        ERSPAN_2 => {
            bytes.skip(if flags & SEQUENCE != 0 { 8 } else { 0 }).map_err(malformed)?;
            payload(ETHERTYPE_BRIDGED, bytes, budget)
        }
        ERSPAN_3 => {
            let h = bytes.take::<12>().map_err(malformed)?;
            // The O bit announces a platform-specific sub-header.
            bytes.skip(if h[11] & 1 != 0 { 8 } else { 0 }).map_err(malformed)?;
            payload(ETHERTYPE_BRIDGED, bytes, budget)
        }
        GRE_PPP => link_header::ppp(bytes, &mut { PacketFields::NO_VLAN }, budget),
        _ => payload(kind, bytes, budget),
    }
}

fn vxlan(bytes: &mut ByteCursor<'_>, budget: &mut HeaderBudget) -> Result<Announced, NotMeasured> {
    let h = bytes.take::<8>().map_err(malformed)?;
    // The I flag must be set (section 5): without it this is some other use of the port.
    if h[0] & 0x08 == 0 {
        return Err(NotMeasured::NotIp);
    }
    payload(ETHERTYPE_BRIDGED, bytes, budget)
}

fn geneve(bytes: &mut ByteCursor<'_>, budget: &mut HeaderBudget) -> Result<Announced, NotMeasured> {
    let h = bytes.take::<8>().map_err(malformed)?;
    if h[0] >> 6 != 0 {
        return Err(NotMeasured::NotIp);
    }
    bytes.skip(usize::from(h[0] & 0x3f) * 4).map_err(malformed)?;
    payload(be16(h, 2), bytes, budget)
}

fn gtp_u(bytes: &mut ByteCursor<'_>, budget: &mut HeaderBudget) -> Result<Announced, NotMeasured> {
    /// Message type of user data.
    const T_PDU: u8 = 255;
    let h = bytes.take::<8>().map_err(malformed)?;
    // Version 1, protocol type GTP.
    if h[0] >> 4 != 3 || h[1] != T_PDU {
        return Err(NotMeasured::NotIp);
    }
    // Any of the flags E, S, PN adds all four optional bytes.
    if h[0] & 0x07 != 0 {
        let optional = bytes.take::<4>().map_err(malformed)?;
        let mut next = if h[0] & 0x04 != 0 { optional[3] } else { 0 };
        while next != 0 {
            budget.spend()?;
            let length = usize::from(bytes.peek::<1>().map_err(malformed)?[0]) * 4;
            if length == 0 {
                return Err(NotMeasured::MalformedLink);
            }
            bytes.skip(length - 1).map_err(malformed)?;
            next = bytes.take::<1>().map_err(malformed)?[0];
        }
    }
    Ok(Announced::Ip)
}
