//! sFlow version 5 (sflow.org, "sFlow Version 5", 2004): datagrams of samples, and what a sampled packet tells.
//!
//! All numbers have 32 bits in network byte order, and what has another length is padded to them (XDR, RFC 4506).

use crate::counts::RecordCounts;
use flow::{FlowKey, FlowRecord, NULL, OpenFields};
use packet::{Frame, Key, KeySpec, LinkType, Packet, PacketFields, PacketKey, Remark, Tunnel};
use record::read::Octets;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The version, behind two octets of zero.
pub(crate) const VERSION: u16 = 5;
/// Octets of the frame check sequence, which an Ethernet frame's length has.
const CHECK_SEQUENCE: u32 = 4;
/// The formats of samples: flow samples, and those whose interfaces have numbers of 32 bits.
const FLOW_SAMPLE: u32 = 1;
const EXPANDED_FLOW_SAMPLE: u32 = 3;
/// The formats of the records of a flow sample.
const RAW_HEADER: u32 = 1;
const SAMPLED_IPV4: u32 = 3;
const SAMPLED_IPV6: u32 = 4;
const EXTENDED_SWITCH: u32 = 1001;
/// The VLANs that a packet can be of.
const VLANS: std::ops::RangeInclusive<u32> = 1..=4094;

/// The times, which no sample tells.
const TIMES: OpenFields = OpenFields::all(&["stime", "ltime"]);
/// The fields that [`SAMPLED_IPV4`] and [`SAMPLED_IPV6`] do not tell.
const NOT_IN_SAMPLED: OpenFields =
    OpenFields::all(&["ip_ttl", "vlan", "smac", "dmac", "tcp_seq", "tcp_ack", "tcp_win", "wire_byte"]);
/// The fields that a frame does not tell whose packet is not measured.
const NOT_IN_FRAME: OpenFields = OpenFields::all(&["total_byte", "ip_tos", "ip_ttl", "tcp_flags"]);
const PORTS: OpenFields = OpenFields::all(&["src_port", "dst_port"]);
const TCP: OpenFields = OpenFields::all(&["tcp_flags", "tcp_seq", "tcp_ack", "tcp_win"]);

/// The header of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// The address of the agent, which is the switch.
    pub(crate) agent: IpAddr,
    /// The number of the part of the agent that sent the datagram.
    pub(crate) sub_agent: u32,
    /// The number of datagrams that this part sent before.
    pub(crate) sequence: u32,
    pub(crate) uptime_ms: u32,
    /// The number of samples of the datagram.
    pub(crate) samples: u32,
}

impl Header {
    /// Reads the header behind the version. `None` if it is cut off, or the agent's address is of no kind that is known.
    pub(crate) fn read(octets: &mut Octets<'_>) -> Option<Self> {
        let agent = match octets.u32()? {
            1 => ipv4(octets)?,
            2 => ipv6(octets)?,
            _ => return None,
        };
        let (sub_agent, sequence) = (octets.u32()?, octets.u32()?);
        Some(Self { agent, sub_agent, sequence, uptime_ms: octets.u32()?, samples: octets.u32()? })
    }
}

/// A sample of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sample<'a> {
    /// A sampled packet.
    Flow(FlowSample<'a>),
    /// Counters of an interface, or a sample of a vendor.
    Other,
}

/// A sampled packet, with what the agent tells of its sampling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowSample<'a> {
    /// The source of the samples, such as an interface: kind and number.
    pub(crate) source: (u32, u32),
    /// One packet of this many is sampled; 0 if it is not told.
    pub(crate) rate: u32,
    /// The number of samples of the source that the agent has dropped so far, because it could not take them.
    pub(crate) drops: u32,
    /// The number of records, and the records.
    number: u32,
    records: Octets<'a>,
}

impl<'a> Sample<'a> {
    /// Reads the next sample of a datagram; `None` if it is cut off.
    pub(crate) fn read(octets: &mut Octets<'a>) -> Option<Self> {
        let (format, mut content) = structure(octets)?;
        let is_expanded = match format {
            FLOW_SAMPLE => false,
            EXPANDED_FLOW_SAMPLE => true,
            _ => return Some(Self::Other),
        };
        let content = &mut content;
        let _sequence = content.u32()?;
        let source = content.u32()?;
        let source =
            if is_expanded { (source, content.u32()?) } else { (source >> 24, source & 0x00ff_ffff) };
        let (rate, _pool, drops) = (content.u32()?, content.u32()?, content.u32()?);
        // The interfaces by which it came and left.
        content.take(if is_expanded { 16 } else { 8 })?;
        let number = content.u32()?;
        Some(Self::Flow(FlowSample { source, rate, drops, number, records: *content }))
    }
}

impl FlowSample<'_> {
    /// Returns the record of the packet, which came at this time; `None` if the sample is cut off. It counts as one packet.
    pub(crate) fn record(&self, now_ns: u64, counts: &mut RecordCounts) -> Option<FlowRecord> {
        let mut records = self.records;
        let (mut from_header, mut from_fields, mut vlan) = (None, None, None);
        for _ in 0..self.number {
            let (format, mut content) = structure(&mut records)?;
            match format {
                RAW_HEADER => from_header = Some(sampled_header(&mut content, now_ns)?),
                SAMPLED_IPV4 => from_fields = Some(sampled_fields(&mut content, ipv4, now_ns)?),
                SAMPLED_IPV6 => from_fields = Some(sampled_fields(&mut content, ipv6, now_ns)?),
                EXTENDED_SWITCH => vlan = content.u32().filter(|vlan| VLANS.contains(vlan)),
                _ => {}
            }
        }
        let told = from_header.filter(|record| record.key.is_some() || from_fields.is_none());
        let mut record = told.or(from_fields).unwrap_or_else(|| unmeasured(now_ns, None));
        // The tag of a frame is the packet's own; a switch that takes it out of the header tells it apart.
        if let (None, Some(vlan)) = (record.vlan, vlan) {
            record.vlan = Some(vlan as u16);
            record.open.remove(OpenFields::from_field("vlan"));
        }
        counts.without_time += 1;
        counts.without_address += u64::from(record.key.is_none());
        counts.without_wire_bytes += u64::from(record.wire_bytes().is_none());
        Some(record)
    }
}

/// Takes the next structure: its format, and its content. Formats of vendors are above those of sFlow.
fn structure<'a>(octets: &mut Octets<'a>) -> Option<(u32, Octets<'a>)> {
    let (format, length) = (octets.u32()?, octets.u32()?);
    octets.take(usize::try_from(length).ok()?).map(|content| (format, Octets(content)))
}

fn ipv4(octets: &mut Octets<'_>) -> Option<IpAddr> {
    octets.u32().map(|bits| Ipv4Addr::from(bits).into())
}

fn ipv6(octets: &mut Octets<'_>) -> Option<IpAddr> {
    octets.take(16)?.try_into().ok().map(|bytes: [u8; 16]| Ipv6Addr::from(bytes).into())
}

/// Reads the record of a packet whose first octets are told.
fn sampled_header(content: &mut Octets<'_>, now_ns: u64) -> Option<FlowRecord> {
    let (protocol, length, stripped, octets) =
        (content.u32()?, content.u32()?, content.u32()?, content.u32()?);
    let data = content.take(usize::try_from(octets).ok()?)?;
    let link = match protocol {
        1 => LinkType::Ethernet,
        7 => LinkType::Ppp,
        11 => LinkType::RawIpv4,
        12 => LinkType::RawIpv6,
        _ => LinkType::Unsupported,
    };
    // The length of an Ethernet frame has its check sequence, which is among what was stripped. An agent that stripped nothing had none.
    let has_check_sequence = link == LinkType::Ethernet && stripped >= CHECK_SEQUENCE;
    let check_sequence = if has_check_sequence { CHECK_SEQUENCE } else { 0 };
    let wire_len = length.saturating_sub(check_sequence).max(data.len() as u32);
    let frame = Frame { data, wire_len, time_ns: now_ns, link, stripped_vlan: None };
    Some(match packet::parse(&frame, Tunnel::Outer) {
        Ok(packet) => measured(&packet),
        Err(_) => unmeasured(now_ns, Some(wire_len)),
    })
}

/// The record of a packet whose header could be read.
fn measured(packet: &Packet) -> FlowRecord {
    let fields = &packet.fields;
    let key = match &packet.key {
        PacketKey::V4(key) => key.flow_key(&KeySpec::default()),
        PacketKey::V6(key) => key.flow_key(&KeySpec::default()),
    };
    let mut open = TIMES;
    if packet.protocol_truncated {
        open.add(OpenFields::from_field("protocol"));
    }
    if packet.ports == Some(Remark::PortsTruncated) {
        open.add(PORTS);
    }
    if packet.tcp_truncated {
        open.add(TCP);
    }
    let protocol = key.protocol.filter(|_| !packet.protocol_truncated);
    FlowRecord {
        key: Some(key),
        total_count: 1,
        total_byte: fields.total_byte.into(),
        wire_byte: fields.wire_byte.into(),
        tcp_seq: fields.tcp_seq,
        tcp_ack: fields.tcp_ack,
        tcp_win: fields.tcp_win,
        vlan: (fields.vlan != PacketFields::NO_VLAN).then_some(fields.vlan),
        smac: fields.smac(),
        dmac: fields.dmac(),
        tcp_flags: fields.tcp_flags,
        ip_ttl: fields.ip_ttl,
        ip_tos: fields.ip_tos,
        headers: packet.headers,
        open: open.limit_to_protocol(protocol),
        ..FlowRecord::without_packets(fields.time_ns, fields.time_ns)
    }
}

/// The record of a frame without a packet that is measured, such as one of ARP, or of which nothing is told that is read.
fn unmeasured(now_ns: u64, wire_len: Option<u32>) -> FlowRecord {
    let mut record = FlowRecord {
        total_count: 1,
        wire_byte: wire_len.map_or(NULL, u64::from),
        ..FlowRecord::without_packets(now_ns, now_ns)
    };
    [TIMES, NOT_IN_FRAME].into_iter().for_each(|fields| record.open.add(fields));
    if wire_len.is_none() {
        record.open.add(NOT_IN_SAMPLED);
    }
    record
}

/// Reads the record of a packet of which fields are told and no header; `address` reads an address of its kind.
fn sampled_fields(
    content: &mut Octets<'_>,
    address: impl Fn(&mut Octets<'_>) -> Option<IpAddr>,
    now_ns: u64,
) -> Option<FlowRecord> {
    let (length, protocol) = (content.u32()?, content.u32()?);
    let addresses = [address(content)?, address(content)?];
    let [source, destination, flags, tos] = [content.u32()?, content.u32()?, content.u32()?, content.u32()?];
    let ends = [(addresses[0], source as u16), (addresses[1], destination as u16)];
    let mut record = FlowRecord {
        key: Some(FlowKey::five_tuple(ends[0], ends[1], protocol as u8)),
        total_count: 1,
        total_byte: length.into(),
        wire_byte: NULL,
        tcp_flags: flags as u8,
        ip_tos: tos as u8,
        ..FlowRecord::without_packets(now_ns, now_ns)
    };
    let mut open = TIMES;
    open.add(NOT_IN_SAMPLED);
    record.open = open.limit_to_protocol(Some(protocol as u8));
    Some(record)
}
