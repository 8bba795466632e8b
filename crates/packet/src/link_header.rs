//! Link headers down to IP: Ethernet II, 802.3 with LLC and SNAP, 802.1Q and 802.1ad tags, MPLS (RFC 3032),
//! PPPoE (RFC 2516), PPP (RFC 1661), Cisco HDLC, Linux cooked, BSD loopback, raw IP.

use crate::bytes::{ByteCursor, HeaderBudget, Short, be16, be32};
use crate::{Frame, LinkType, NotMeasured, PacketFields};

pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(crate) const ETHERTYPE_MPLS: u16 = 0x8847;
pub(crate) const ETHERTYPE_BRIDGED: u16 = 0x6558;
const ETHERTYPE_MPLS_MULTICAST: u16 = 0x8848;
const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_RARP: u16 = 0x8035;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// Addresses of Cisco HDLC.
const CISCO_UNICAST: u8 = 0x0f;
const CISCO_MULTICAST: u8 = 0x8f;
/// The least EtherType: below it, the field behind the addresses is a length (IEEE 802.3).
const ETHERTYPE_LEAST: u16 = 1536;

/// An IP header announced by the header before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    Ipv4,
    Ipv6,
    /// A header of either version: the version nibble decides.
    Ip,
}

/// The fields that the link headers state of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkFields {
    /// MAC addresses, destination first.
    pub(crate) macs: [u8; 12],
    /// Outermost VLAN id.
    pub(crate) vlan: u16,
}

fn malformed(short: Short) -> NotMeasured {
    short.or(NotMeasured::MalformedLink)
}

/// Passes over the link headers of `frame`: returns what they state, and the IP header that they announce.
pub(crate) fn parse<'a>(
    frame: &Frame<'a>,
    budget: &mut HeaderBudget,
) -> Result<(LinkFields, Announced, ByteCursor<'a>), NotMeasured> {
    let mut bytes = ByteCursor::new(frame.data, frame.wire_len as usize);
    let vlan = frame.stripped_vlan.map_or(PacketFields::NO_VLAN, |tci| tci & 0xfff);
    let mut link = LinkFields { macs: [0; 12], vlan };
    let announced = match frame.link {
        LinkType::Ethernet => {
            link.macs = *bytes.peek::<12>().map_err(malformed)?;
            ethernet(&mut bytes, &mut link.vlan, budget)?
        }
        LinkType::Raw => Announced::Ip,
        LinkType::RawIpv4 => Announced::Ipv4,
        LinkType::RawIpv6 => Announced::Ipv6,
        LinkType::LinuxCooked => {
            let h = bytes.take::<16>().map_err(malformed)?;
            link.macs[6..].copy_from_slice(&cooked_address(u16::from_be_bytes([h[4], h[5]]), &h[6..12]));
            cooked(be16(h, 2), be16(h, 14), &mut bytes, &mut link.vlan, budget)?
        }
        LinkType::LinuxCooked2 => {
            let h = bytes.take::<20>().map_err(malformed)?;
            link.macs[6..].copy_from_slice(&cooked_address(u16::from(h[11]), &h[12..18]));
            cooked(be16(h, 8), be16(h, 0), &mut bytes, &mut link.vlan, budget)?
        }
        LinkType::BsdNull | LinkType::BsdLoop => family(be32(bytes.take::<4>().map_err(malformed)?, 0))?,
        // Serial lines of Cisco's are captured under the number of PPP too, whose first byte is never one of its addresses.
        LinkType::Ppp => match bytes.peek::<1>() {
            Ok([CISCO_UNICAST | CISCO_MULTICAST]) => cisco(&mut bytes, &mut link.vlan, budget)?,
            _ => ppp(&mut bytes, &mut link.vlan, budget)?,
        },
        LinkType::CiscoHdlc => cisco(&mut bytes, &mut link.vlan, budget)?,
        LinkType::Unsupported => return Err(NotMeasured::LinkType),
    };
    Ok((link, announced, bytes))
}

/// Cisco HDLC: address, control, EtherType.
fn cisco(
    bytes: &mut ByteCursor<'_>,
    vlan: &mut u16,
    budget: &mut HeaderBudget,
) -> Result<Announced, NotMeasured> {
    let h = bytes.take::<4>().map_err(malformed)?;
    match be16(h, 2) {
        // On this link the number of RARP is that of Cisco's keep-alive.
        ETHERTYPE_RARP => Err(NotMeasured::NotIp),
        kind => ethertype(kind, bytes, vlan, budget),
    }
}

/// An Ethernet header, inside a tunnel too.
pub(crate) fn ethernet(
    bytes: &mut ByteCursor<'_>,
    vlan: &mut u16,
    budget: &mut HeaderBudget,
) -> Result<Announced, NotMeasured> {
    let h = bytes.take::<14>().map_err(malformed)?;
    ethertype(be16(h, 12), bytes, vlan, budget)
}

/// Returns the header that follows an EtherType, tags and labels passed over. `vlan` gets the first tag's id if it has none yet.
pub(crate) fn ethertype(
    mut kind: u16,
    bytes: &mut ByteCursor<'_>,
    vlan: &mut u16,
    budget: &mut HeaderBudget,
) -> Result<Announced, NotMeasured> {
    loop {
        match kind {
            ETHERTYPE_IPV4 => return Ok(Announced::Ipv4),
            ETHERTYPE_IPV6 => return Ok(Announced::Ipv6),
            ETHERTYPE_ARP | ETHERTYPE_RARP => return Err(NotMeasured::Arp),
            // 802.1Q, 802.1ad, and the numbers used for QinQ before it.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => {
                budget.spend()?;
                let tag = bytes.take::<4>().map_err(malformed)?;
                if *vlan == PacketFields::NO_VLAN {
                    *vlan = be16(tag, 0) & 0xfff;
                }
                kind = be16(tag, 2);
            }
            ETHERTYPE_MPLS | ETHERTYPE_MPLS_MULTICAST => return mpls(bytes, budget),
            ETHERTYPE_PPPOE_SESSION => {
                budget.spend()?;
                let h = bytes.take::<6>().map_err(malformed)?;
                // Session data is code 0 (RFC 2516, section 6).
                return if h[1] == 0 { ppp(bytes, vlan, budget) } else { Err(NotMeasured::NotIp) };
            }
            length if length < ETHERTYPE_LEAST => kind = llc(bytes)?,
            _ => return Err(NotMeasured::NotIp),
        }
    }
}

/// LLC (IEEE 802.2), with SNAP or with IP's own service access point: the EtherType that follows.
fn llc(bytes: &mut ByteCursor<'_>) -> Result<u16, NotMeasured> {
    match bytes.take::<3>().map_err(malformed)? {
        [0xaa, 0xaa, 0x03] => {
            let snap = bytes.take::<5>().map_err(malformed)?;
            match be16(snap, 3) {
                // Encapsulated Ethernet (RFC 1042) and the bridge-tunnel form (IEEE 802.1H).
                kind if matches!(snap[..3], [0, 0, 0] | [0, 0, 0xf8]) && kind >= ETHERTYPE_LEAST => Ok(kind),
                _ => Err(NotMeasured::NotIp),
            }
        }
        [0x06, 0x06, 0x03] => Ok(ETHERTYPE_IPV4),
        _ => Err(NotMeasured::NotIp),
    }
}

/// A label stack; IP is recognised after it by its version nibble, as routers do (RFC 4928).
fn mpls(bytes: &mut ByteCursor<'_>, budget: &mut HeaderBudget) -> Result<Announced, NotMeasured> {
    loop {
        budget.spend()?;
        let label = bytes.take::<4>().map_err(malformed)?;
        if label[2] & 1 == 1 {
            break;
        }
    }
    match bytes.peek::<1>().map_err(malformed)?[0] >> 4 {
        4 => Ok(Announced::Ipv4),
        6 => Ok(Announced::Ipv6),
        _ => Err(NotMeasured::NotIp),
    }
}

/// PPP: address and control may be absent, the protocol may be one byte (RFC 1661, section 6.5 and 6.6).
pub(crate) fn ppp(
    bytes: &mut ByteCursor<'_>,
    vlan: &mut u16,
    budget: &mut HeaderBudget,
) -> Result<Announced, NotMeasured> {
    if bytes.peek::<1>() == Ok(&[0xff]) && *bytes.peek::<2>().map_err(malformed)? == [0xff, 0x03] {
        bytes.skip(2).map_err(malformed)?;
    }
    let first = bytes.take::<1>().map_err(malformed)?[0];
    let protocol = if first & 1 == 1 {
        u16::from(first)
    } else {
        u16::from_be_bytes([first, bytes.take::<1>().map_err(malformed)?[0]])
    };
    match protocol {
        0x0021 => Ok(Announced::Ipv4),
        0x0057 => Ok(Announced::Ipv6),
        0x0281 | 0x0283 => ethertype(ETHERTYPE_MPLS, bytes, vlan, budget),
        _ => Err(NotMeasured::NotIp),
    }
}

fn cooked_address(length: u16, address: &[u8]) -> [u8; 6] {
    match (length, address.try_into()) {
        (6, Ok(address)) => address,
        _ => [0; 6],
    }
}

/// The protocol of a Linux cooked header; its meaning depends on the ARPHRD type of the interface.
fn cooked(
    hardware: u16,
    protocol: u16,
    bytes: &mut ByteCursor<'_>,
    vlan: &mut u16,
    budget: &mut HeaderBudget,
) -> Result<Announced, NotMeasured> {
    const ARPHRD_NETLINK: u16 = 824;
    const ARPHRD_RADIOTAP: u16 = 803;
    const ARPHRD_FRAD: u16 = 770;
    /// 802.2 LLC after the header.
    const PROTOCOL_LLC: u16 = 0x0004;
    match (hardware, protocol) {
        (ARPHRD_NETLINK | ARPHRD_RADIOTAP | ARPHRD_FRAD, _) => Err(NotMeasured::NotIp),
        (_, PROTOCOL_LLC) => {
            let kind = llc(bytes)?;
            ethertype(kind, bytes, vlan, budget)
        }
        (_, kind) if kind >= ETHERTYPE_LEAST => ethertype(kind, bytes, vlan, budget),
        _ => Err(NotMeasured::NotIp),
    }
}

/// A BSD address family, whose byte order is that of the host that captured: a small number either way.
fn family(number: u32) -> Result<Announced, NotMeasured> {
    match if number > 0xffff { number.swap_bytes() } else { number } {
        2 => Ok(Announced::Ipv4),
        // Linux; NetBSD and OpenBSD; FreeBSD; macOS.
        10 | 24 | 28 | 30 => Ok(Announced::Ipv6),
        _ => Err(NotMeasured::NotIp),
    }
}
