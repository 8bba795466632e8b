//! The parser: frames in, keyed packets out, every frame accounted for.

use crate::bytes::{HeaderBudget, be16, be32};
use crate::ip::{self, PacketKey, protocol};
use crate::{
    Frame, Key, KeyBurst, KeyV4, KeyV6, KeyedPacket, LinkType, NotMeasured, PacketFields, Remark, Seed,
};
use crate::{link_header, tunnel};

/// Which IP header of a tunnelled packet is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tunnel {
    /// The first one.
    #[default]
    Outer,
    /// The deepest one within [`Tunnel::MAX_LEVELS`].
    Inner,
}

impl Tunnel {
    /// IP headers that are looked at in one frame, the outer one included.
    pub const MAX_LEVELS: usize = 4;
}

/// A measured packet: its key, what the record keeps of it, and what is to be said beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The 5-tuple.
    pub key: PacketKey,
    /// What a flow record keeps.
    pub fields: PacketFields,
    /// Why the ports are 0, if they should not be.
    pub ports: Option<Remark>,
    /// True where the header inside a tunnel could not be parsed.
    pub inner_unparsed: bool,
}

/// Parses one frame.
///
/// # Errors
/// The one reason why the frame is not measured.
pub fn parse(frame: &Frame<'_>, tunnel: Tunnel) -> Result<Packet, NotMeasured> {
    let mut budget = HeaderBudget::new();
    let (link, announced, bytes) = link_header::parse(frame, &mut budget)?;
    let mut packet = ip::parse(announced, bytes, &mut budget)?;
    let mut inner_unparsed = false;
    if tunnel == Tunnel::Inner {
        for _ in 1..Tunnel::MAX_LEVELS {
            let Some(way) = tunnel::enter(&packet, &mut budget) else { break };
            match way.and_then(|(announced, bytes)| ip::parse(announced, bytes, &mut budget)) {
                Ok(inner) => packet = inner,
                Err(_) => {
                    inner_unparsed = true;
                    break;
                }
            }
        }
    }
    let fields = PacketFields {
        time_ns: frame.time_ns,
        wire_byte: wire_byte(frame),
        vlan: link.vlan,
        macs: link.macs,
        ..packet.fields
    };
    Ok(Packet { key: packet.key(), fields, ports: packet.remark, inner_unparsed })
}

/// The frame's length on the wire, with the tag that a driver took out.
#[inline(always)]
fn wire_byte(frame: &Frame<'_>) -> u32 {
    frame.wire_len.saturating_add(if frame.stripped_vlan.is_some() { 4 } else { 0 })
}

/// Ethernet, IPv4 and the first 16 bytes of TCP; also the least length of a frame on the wire, less padding.
type CommonHeaders = [u8; 14 + 20 + 16];

/// The headers of the common case: untagged Ethernet, IPv4 without options and fragments, TCP or UDP, with honest lengths.
/// Anything else is `None` and goes the general way, which gives the same answer for these.
#[inline(always)]
fn common_headers<'a>(frame: &Frame<'a>, tunnel: Tunnel) -> Option<&'a CommonHeaders> {
    let h: &CommonHeaders = frame.data.first_chunk()?;
    let total = u32::from(be16(h, 16));
    let is_tcp = h[23] == protocol::TCP;
    // EtherType, version and header length in one comparison.
    let is_ipv4 = be32(h, 12) & 0xffff_ff00 == u32::from(link_header::ETHERTYPE_IPV4) << 16 | 0x4500;
    let is_common = is_ipv4
        && be16(h, 20) & 0x1fff == 0
        && (is_tcp || h[23] == protocol::UDP && tunnel == Tunnel::Outer)
        // The TCP fields, or the ports, lie within the packet and not in its padding.
        && total >= if is_tcp { 36 } else { 24 }
        && total <= frame.wire_len.saturating_sub(14)
        && frame.link == LinkType::Ethernet
        && frame.stripped_vlan.is_none();
    is_common.then_some(h)
}

/// Fills a packet from the headers of the common case, member by member: read together and written together they do not
/// fit the registers, which costs 16 instructions a packet.
#[inline(always)]
fn fill_common(packet: &mut KeyedPacket<KeyV4>, h: &CommonHeaders, frame: &Frame<'_>, seed: &Seed) {
    let addresses = std::array::from_fn(|i| h[26 + i]);
    let ports = std::array::from_fn(|i| h[34 + i]);
    packet.key = KeyV4::new(addresses, ports, h[23]);
    packet.hash = packet.key.hash(seed);
    // A mask instead of a branch: where TCP and UDP are mixed, the branch is guessed wrong every few packets.
    let tcp = 0u32.wrapping_sub(u32::from(h[23] == protocol::TCP));
    let fields = &mut packet.fields;
    fields.time_ns = frame.time_ns;
    fields.total_byte = be16(h, 16).into();
    fields.wire_byte = frame.wire_len;
    fields.tcp_seq = be32(h, 38) & tcp;
    fields.tcp_ack = be32(h, 42) & tcp;
    fields.tcp_win = be16(h, 48) & tcp as u16;
    fields.tcp_flags = h[47] & tcp as u8;
    fields.ip_ttl = h[22];
    fields.ip_tos = h[15];
    fields.vlan = PacketFields::NO_VLAN;
    fields.macs = std::array::from_fn(|i| h[i]);
}

/// Parses bursts: measured packets go to one [`KeyBurst`] per address family, the others to their counter.
#[derive(Debug)]
pub struct BurstParser {
    seed: Seed,
    tunnel: Tunnel,
    /// The burst's IPv4 packets.
    pub v4: KeyBurst<KeyV4>,
    /// The burst's IPv6 packets.
    pub v6: KeyBurst<KeyV6>,
    /// Frames that were not measured, by [`NotMeasured`].
    pub not_measured: [u64; NotMeasured::ALL.len()],
    /// Remarks on measured frames, by [`Remark`].
    pub remarks: [u64; Remark::ALL.len()],
}

impl BurstParser {
    /// A parser for bursts of up to `burst` frames.
    pub fn new(seed: Seed, tunnel: Tunnel, burst: usize) -> Self {
        Self {
            seed,
            tunnel,
            v4: KeyBurst::with_capacity(burst),
            v6: KeyBurst::with_capacity(burst),
            not_measured: [0; _],
            remarks: [0; _],
        }
    }

    /// Forgets the packets of the last burst; the counters stay.
    #[inline]
    pub fn clear(&mut self) {
        self.v4.clear();
        self.v6.clear();
    }

    /// Parses a frame into the burst.
    #[inline(always)]
    pub fn push(&mut self, frame: &Frame<'_>) {
        match common_headers(frame, self.tunnel) {
            Some(headers) => fill_common(self.v4.add(), headers, frame, &self.seed),
            None => self.push_general(*frame),
        }
    }

    /// Counts a frame that is not to be parsed at all.
    #[inline]
    pub fn skip(&mut self, reason: NotMeasured) {
        self.not_measured[reason as usize] += 1;
    }

    // Out of line, so that the common case stays small enough to inline into the engine's loop, and by value, so that it
    // need not put the frame into memory.
    #[inline(never)]
    fn push_general(&mut self, frame: Frame<'_>) {
        match parse(&frame, self.tunnel) {
            Ok(packet) => {
                if let Some(remark) = packet.ports {
                    self.remarks[remark as usize] += 1;
                }
                self.remarks[Remark::InnerUnparsed as usize] += u64::from(packet.inner_unparsed);
                match packet.key {
                    PacketKey::V4(key) => self.v4.push(key, packet.fields, &self.seed),
                    PacketKey::V6(key) => self.v6.push(key, packet.fields, &self.seed),
                }
            }
            Err(reason) => self.skip(reason),
        }
    }
}
