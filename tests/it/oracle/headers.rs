//! From tshark's fields to the IP headers of a frame, and to flows as `interface.md` of the project counts them.

use super::flow::{Flows, Key, Level};
use super::tshark::Row;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// IP headers of one frame that are looked at.
const MAX_LEVELS: usize = 4;

/// Link types that Edison measures, by Wireshark's own numbers: Ethernet, PPP, raw IP, BSD null and loop, Linux
/// cooked v1, Cisco HDLC, raw IPv4, raw IPv6, Linux cooked v2.
const ENCAPSULATIONS: [&str; 9] = ["1", "4", "7", "15", "25", "28", "129", "130", "210"];

/// An IP header as tshark shows it.
#[derive(Debug)]
struct Header {
    key: Key,
    bytes: u64,
    /// It states more than the frame has, or less than its own length.
    bad_length: bool,
    /// A fragment that is not the first.
    later_fragment: bool,
    /// Fragments follow: a packet inside may end in them.
    has_more: bool,
    /// The protocols between this header's transport and the next IP header, tshark's names.
    behind: Vec<String>,
}

/// Walks over the values of each field in the order of the headers.
struct Cursor<'a> {
    row: &'a Row,
    taken: BTreeMap<&'static str, usize>,
}

impl Cursor<'_> {
    fn next(&mut self, field: &'static str) -> Option<&str> {
        let taken = self.taken.entry(field).or_default();
        let value = self.row.values(field).get(*taken)?;
        *taken += 1;
        Some(value)
    }

    fn number<T: TryFrom<u64>>(&mut self, field: &'static str) -> Option<T> {
        let text = self.next(field)?;
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        T::try_from(number.ok()?).ok()
    }

    /// Of a flag, which tshark writes as a number or a word.
    fn is_set(&mut self, field: &'static str) -> bool {
        matches!(self.next(field), Some("1" | "True"))
    }

    fn address(&mut self, field: &'static str) -> Option<IpAddr> {
        self.next(field)?.parse().ok()
    }

    fn ipv4(&mut self) -> Option<Header> {
        let (src, dst) = (self.address("ip.src"), self.address("ip.dst"));
        let (protocol, bytes) = (self.number("ip.proto"), self.number("ip.len"));
        let offset: Option<u64> = self.number("ip.frag_offset");
        let header_len: Option<u64> = self.number("ip.hdr_len");
        let mut header = Header::new(src?, dst?, protocol?, bytes?)?;
        header.later_fragment = offset? != 0;
        header.has_more = self.is_set("ip.flags.mf");
        header.bad_length = header.bytes < header_len?;
        Some(header)
    }

    fn ipv6(&mut self) -> Option<Header> {
        let (src, dst) = (self.address("ipv6.src"), self.address("ipv6.dst"));
        let (protocol, payload) = (self.number("ipv6.nxt"), self.number::<u64>("ipv6.plen"));
        Header::new(src?, dst?, protocol?, 40 + payload?)
    }
}

impl Header {
    fn new(src: IpAddr, dst: IpAddr, protocol: u8, bytes: u64) -> Option<Self> {
        let key = Key { src, dst, protocol, src_port: 0, dst_port: 0 };
        Some(Self {
            key,
            bytes,
            bad_length: false,
            later_fragment: false,
            has_more: false,
            behind: Vec::new(),
        })
    }

    /// True if what follows is a tunnel of the kinds that Edison enters.
    fn is_tunnel(&self) -> bool {
        let behind: Vec<&str> = self.behind.iter().map(String::as_str).collect();
        match (self.key.protocol, behind.as_slice()) {
            (4 | 41, []) => true,
            // NHRP quotes the header of the packet that it is about, as ICMP does.
            (47, ["gre", payload @ ..]) => !payload.contains(&"nhrp"),
            (17, ["udp", tunnel, ..]) => matches!(*tunnel, "vxlan" | "geneve" | "gtp"),
            _ => false,
        }
    }
}

/// The IP headers of a frame, outermost first, as far as tshark has them whole.
fn headers(row: &Row) -> Vec<Header> {
    let mut cursor = Cursor { row, taken: BTreeMap::new() };
    let mut headers: Vec<Header> = Vec::new();
    let layers = row.values("frame.protocols").first().map_or("", String::as_str);
    for layer in layers.split(':') {
        let (header, is_ip) = match layer {
            "ip" => (cursor.ipv4(), true),
            "ipv6" => (cursor.ipv6(), true),
            _ => (None, false),
        };
        if is_ip {
            match header {
                Some(header) => headers.push(header),
                None => break,
            }
            continue;
        }
        let Some(header) = headers.last_mut() else { continue };
        let next = match layer {
            "ipv6.hopopts" => cursor.number("ipv6.hopopts.nxt"),
            "ipv6.routing" => cursor.number("ipv6.routing.nxt"),
            "ipv6.dstopts" => cursor.number("ipv6.dstopts.nxt"),
            "ipv6.fraghdr" => {
                header.later_fragment |=
                    cursor.number::<u64>("ipv6.fraghdr.offset").is_some_and(|at| at != 0);
                header.has_more |= cursor.is_set("ipv6.fraghdr.more");
                cursor.number("ipv6.fraghdr.nxt")
            }
            "ah" => cursor.number("ah.next_header"),
            _ => None,
        };
        if let Some(next) = next {
            header.key.protocol = next;
            continue;
        }
        let is_transport = header.behind.is_empty() && !header.later_fragment;
        let number = |cursor: &mut Cursor<'_>, field| cursor.number::<u16>(field);
        let ports = match layer {
            "tcp" => [number(&mut cursor, "tcp.srcport"), number(&mut cursor, "tcp.dstport")],
            "udp" | "udplite" => [number(&mut cursor, "udp.srcport"), number(&mut cursor, "udp.dstport")],
            "sctp" => [number(&mut cursor, "sctp.srcport"), number(&mut cursor, "sctp.dstport")],
            "icmp" => [number(&mut cursor, "icmp.type"), number(&mut cursor, "icmp.code")],
            "icmpv6" => [number(&mut cursor, "icmpv6.type"), number(&mut cursor, "icmpv6.code")],
            _ => [None; 2],
        };
        if let ([Some(first), Some(second)], true) = (ports, is_transport) {
            match layer {
                "icmp" | "icmpv6" => header.key.dst_port = first << 8 | second,
                _ => (header.key.src_port, header.key.dst_port) = (first, second),
            }
        }
        header.behind.push(layer.to_owned());
    }
    headers
}

/// Marks the header that states more than there is. tshark reports how much there is, but not for which
/// header: it is the last one to which that can apply.
fn mark_bad_length(headers: &mut [Header], row: &Row) {
    const COMPLAINTS: [(&str, u64); 2] = [
        ("IPv4 total length exceeds packet length (", 0),
        ("IPv6 payload length exceeds framing length (", 40),
    ];
    for message in row.values("_ws.expert.message") {
        for (complaint, header_len) in COMPLAINTS {
            let available = message.strip_prefix(complaint).and_then(|rest| rest.strip_suffix(" bytes)"));
            let Some(available) = available.and_then(|number| number.parse::<u64>().ok()) else { continue };
            let is_meant = |header: &Header| {
                header.bytes > available + header_len && header.key.src.is_ipv6() == (header_len == 40)
            };
            let Some(at) = headers.iter().rposition(is_meant) else { continue };
            headers[at].bad_length = !headers[..at].iter().any(|around| around.has_more);
        }
    }
}

/// The flows of a capture.
pub(crate) fn flows(rows: &[Row], level: Level) -> Flows {
    let mut flows = Flows::new();
    for row in rows.iter().filter(|row| ENCAPSULATIONS.contains(&row.values("frame.encap_type")[0].as_str()))
    {
        let mut headers = headers(row);
        let tunnels = headers.iter().take_while(|header| header.is_tunnel()).count();
        headers.truncate(tunnels.min(MAX_LEVELS - 1) + 1);
        mark_bad_length(&mut headers, row);
        let mut measured = headers.iter().take_while(|header| !header.bad_length);
        let header = match level {
            Level::Outer => measured.next(),
            Level::Inner => measured.last(),
        };
        let Some(header) = header else { continue };
        let counts = flows.entry(header.key).or_default();
        counts.packets += 1;
        counts.bytes += header.bytes;
    }
    flows
}
