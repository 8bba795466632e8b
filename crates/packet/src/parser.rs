//! The parser: frames in, keyed packets out, every frame accounted for.

use crate::bytes::{ByteCursor, HeaderBudget, be16, be32};
use crate::header_fields;
use crate::ip::{self, IpPacket, PacketKey, protocol};
use crate::transport::TransportWord;
use crate::{
    Bursts, Frame, KeyBurst, KeySpec, KeyV4, KeyedPacket, LinkType, MaskedKey, NotMeasured, Numbers,
    PacketFields, Pins, Remark, Seed, TcpSegment,
};
use crate::{link_header, tunnel};
use flow::HeaderValues;
use std::sync::Arc;

/// The IP header of a tunnelled packet that is measured.
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

/// The choice of what a parser extracts from packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParserConfig {
    /// The IP header that is measured.
    pub tunnel: Tunnel,
    /// The parts of which keys consist.
    pub key: KeySpec,
    /// True if both directions of a key have one hash, so that a table can hold them together.
    pub paired: bool,
    /// True if bursts carry TCP segments.
    pub segments: bool,
    /// True if bursts carry header fields beyond the plain ones.
    pub headers: bool,
}

impl From<Tunnel> for ParserConfig {
    fn from(tunnel: Tunnel) -> Self {
        Self { tunnel, ..Self::default() }
    }
}

/// A measured packet: its key, what the record keeps of it, and the remarks on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The packet's key: the 5-tuple, or as configured.
    pub key: PacketKey,
    /// The fields that a flow record keeps.
    pub fields: PacketFields,
    /// The reason why the ports are 0, if they are missing.
    pub ports: Option<Remark>,
    /// True if the snap length cut the header before the one that the protocol in the key is of.
    pub protocol_truncated: bool,
    /// True if the snap length cut its TCP header before the window, or a header before it: the TCP fields are 0.
    pub tcp_truncated: bool,
    /// The reason why the header inside a tunnel was not measured, if it was not.
    pub inner: Option<Remark>,
    /// The packet's TCP segment, if it has one.
    pub segment: TcpSegment,
    /// The packet's header fields beyond the plain ones.
    pub headers: HeaderValues,
}

impl Packet {
    /// Returns the remarks on it, but for that on its segment.
    pub fn remarks(&self) -> impl Iterator<Item = Remark> {
        let protocol = self.protocol_truncated.then_some(Remark::ProtocolTruncated);
        let tcp = self.tcp_truncated.then_some(Remark::TcpTruncated);
        [self.ports, protocol, tcp, self.inner].into_iter().flatten()
    }
}

/// Parses one frame, with the 5-tuple as its key, its TCP segment and all header fields.
///
/// # Errors
/// The one reason why the frame is not measured.
pub fn parse(frame: &Frame<'_>, tunnel: Tunnel) -> Result<Packet, NotMeasured> {
    parse_as(frame, &ParserConfig { segments: true, headers: true, ..tunnel.into() })
}

/// The IP header that is measured.
pub(crate) struct Innermost<'a> {
    link: link_header::LinkFields,
    pub(crate) packet: IpPacket<'a>,
    /// The bytes from the IP header on.
    pub(crate) header: ByteCursor<'a>,
    /// The reason why a header inside it is not measured, if there is one or may be one.
    inner: Option<Remark>,
}

/// Parses headers down to the IP header that is measured.
#[inline(always)]
pub(crate) fn innermost<'a>(frame: &Frame<'a>, tunnel: Tunnel) -> Result<Innermost<'a>, NotMeasured> {
    let mut budget = HeaderBudget::new();
    let (link, announced, mut header) = link_header::parse(frame, &mut budget)?;
    let mut packet = ip::parse(announced, header, false, &mut budget)?;
    let (mut unmeasured, mut in_fragment) = (None, false);
    if tunnel == Tunnel::Inner {
        for _ in 1..Tunnel::MAX_LEVELS {
            let Some(way) = tunnel::enter(&packet, &mut budget) else { break };
            in_fragment |= packet.fragment;
            let inner = way.and_then(|(announced, bytes)| {
                ip::parse(announced, bytes, in_fragment, &mut budget).map(|inner| (inner, bytes))
            });
            match inner {
                Ok(inner) => (packet, header) = inner,
                Err(reason) => {
                    let is_cut = reason == NotMeasured::Truncated;
                    unmeasured = Some(if is_cut { Remark::InnerTruncated } else { Remark::InnerUnparsed });
                    break;
                }
            }
        }
    }
    Ok(Innermost { link, packet, header, inner: unmeasured })
}

fn parse_as(frame: &Frame<'_>, config: &ParserConfig) -> Result<Packet, NotMeasured> {
    let Innermost { link, packet, inner, header } = innermost(frame, config.tunnel)?;
    let fields = PacketFields {
        time_ns: frame.time_ns,
        wire_byte: wire_byte(frame),
        vlan: link.vlan,
        macs: link.macs,
        ..packet.fields
    };
    Ok(Packet {
        key: packet.key(&config.key, link.vlan),
        fields,
        ports: packet.remark,
        protocol_truncated: packet.protocol_truncated,
        tcp_truncated: packet.tcp_truncated,
        inner,
        segment: if config.segments { packet.segment() } else { TcpSegment::NONE },
        headers: match header.peek() {
            Ok(start) if config.headers => header_fields::read(start),
            _ => HeaderValues::NONE,
        },
    })
}

/// The frame's length on the wire, including the tag that a driver removed.
#[inline(always)]
fn wire_byte(frame: &Frame<'_>) -> u32 {
    frame.wire_len.saturating_add(if frame.stripped_vlan.is_some() { 4 } else { 0 })
}

/// Ethernet, IPv4 and the first 16 bytes of TCP; also the least length of a frame on the wire, less padding.
type CommonHeaders = [u8; 14 + 20 + 16];

/// The headers of the common case: untagged Ethernet, IPv4 without options and fragments, TCP or UDP, with
/// consistent lengths. Anything else is `None` and takes the general path, which gives the same result for
/// these.
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
        && u64::from(total) + 14 <= u64::from(frame.wire_len)
        && frame.link == LinkType::Ethernet
        && frame.stripped_vlan.is_none();
    is_common.then_some(h)
}

/// Fills a packet from the headers of the common case, member by member: read together and written together they do not
/// fit the registers, which costs 16 instructions a packet. `spec`: what the key consists of, unless it is the 5-tuple.
#[inline(always)]
fn fill_common(
    packet: &mut KeyedPacket<KeyV4>,
    h: &CommonHeaders,
    frame: &Frame<'_>,
    spec: Option<&KeySpec>,
    paired: bool,
    seed: &Seed,
    number: u64,
) {
    let addresses = std::array::from_fn(|i| h[26 + i]);
    let ports = std::array::from_fn(|i| h[34 + i]);
    packet.key = match spec {
        None => KeyV4::new(addresses, ports, h[23]),
        Some(spec) => {
            let rest = TransportWord::new(ports, h[23], h[15], PacketFields::NO_VLAN);
            KeyV4::from_spec(addresses, rest, spec)
        }
    };
    packet.hash_key(paired, seed);
    // A mask instead of a branch: if TCP and UDP are mixed, the branch is mispredicted every few packets.
    let tcp = 0u32.wrapping_sub(u32::from(h[23] == protocol::TCP));
    let fields = &mut packet.fields;
    fields.time_ns = frame.time_ns;
    fields.total_byte = be16(h, 16).into();
    fields.wire_byte = frame.wire_len;
    fields.number = number as u32;
    fields.tcp_seq = be32(h, 38) & tcp;
    fields.tcp_ack = be32(h, 42) & tcp;
    fields.tcp_win = be16(h, 48) & tcp as u16;
    fields.tcp_flags = h[47] & tcp as u8;
    fields.ip_ttl = h[22];
    fields.ip_tos = h[15];
    fields.vlan = PacketFields::NO_VLAN;
    fields.macs = std::array::from_fn(|i| h[i]);
}

/// Parses bursts: measured packets go to [`Bursts`], the others to their counter.
#[derive(Debug)]
pub struct BurstParser {
    seed: Seed,
    config: ParserConfig,
    /// True if keys are 5-tuples, cached from `config`: the comparison is too long for every packet.
    is_five_tuple: bool,
    /// True if keys are 5-tuples, paired, with segments and without header fields and pins: as for loss tracking.
    is_tracked: bool,
    /// The flows whose packets are named with their segments.
    pins: Option<Arc<Pins>>,
    /// The packets of the burst.
    pub bursts: Bursts,
    /// Frames that were not measured, by [`NotMeasured`].
    pub not_measured: [u64; NotMeasured::ALL.len()],
    /// Remarks on measured frames, by [`Remark`].
    pub remarks: [u64; Remark::ALL.len()],
}

impl BurstParser {
    /// A parser for bursts of up to `burst` frames.
    pub fn new(seed: Seed, config: impl Into<ParserConfig>, burst: usize) -> Self {
        let config = config.into();
        Self {
            seed,
            config,
            is_five_tuple: config.key.is_five_tuple(),
            is_tracked: is_tracked(&config),
            pins: None,
            bursts: Bursts::with_capacity(burst),
            not_measured: [0; NotMeasured::ALL.len()],
            remarks: [0; Remark::ALL.len()],
        }
    }

    /// Removes the packets of the last burst; the counters remain.
    #[inline]
    pub fn clear(&mut self) {
        self.bursts.clear();
    }

    /// The numbers of the next frames lie near this one ([`Numbers::near`]).
    #[inline]
    pub fn number_near(&mut self, number: u64) {
        self.bursts.set_numbers(Numbers::near(number));
    }

    /// Names the packets of these flows ([`KeyBurst::pinned`]) from here on. The burst must be empty. Keys must be 5-tuples.
    pub fn set_pins(&mut self, pins: Option<Arc<Pins>>) {
        self.pins = pins.filter(|pins| self.is_five_tuple && !pins.is_empty());
        self.is_tracked = is_tracked(&self.config) && self.pins.is_none();
    }

    /// True if [`BurstParser::push`] may be called with `IS_PLAIN`: 5-tuples, hashed per direction, without
    /// segments, header fields and pins.
    pub fn is_plain(&self) -> bool {
        let ParserConfig { paired, segments, headers, .. } = self.config;
        self.is_five_tuple && !paired && !segments && !headers && self.pins.is_none()
    }

    /// True if there are pins, which [`BurstParser::push_pinning`] looks for: of 5-tuples, hashed per direction, without segments and
    /// header fields.
    pub fn is_pinning(&self) -> bool {
        let ParserConfig { paired, segments, headers, .. } = self.config;
        self.pins.is_some() && !paired && !segments && !headers
    }

    /// Parses a frame into the burst. `number`: its number among those that were received. `IS_PLAIN` saves
    /// ten instructions a packet in the common case; it must be [`BurstParser::is_plain`], which the caller
    /// evaluates once per burst.
    #[inline(always)]
    pub fn push<const IS_PLAIN: bool>(&mut self, frame: &Frame<'_>, number: u64) {
        debug_assert!(!IS_PLAIN || self.is_plain());
        match common_headers(frame, self.config.tunnel) {
            Some(headers) => {
                let Self { bursts: Bursts { v4, .. }, config, seed, .. } = self;
                // One test instead of three if losses are tracked.
                if IS_PLAIN {
                    fill_common(v4.add(), headers, frame, None, false, seed, number);
                } else if self.is_tracked {
                    fill_common(v4.add(), headers, frame, None, true, seed, number);
                    self.add_common_segment(headers, frame);
                } else {
                    let spec = if self.is_five_tuple { None } else { Some(&config.key) };
                    fill_common(v4.add(), headers, frame, spec, config.paired, seed, number);
                    if config.segments {
                        self.add_common_segment(headers, frame);
                    }
                    if self.config.headers
                        && let Some(start) = headers[14..].first_chunk()
                    {
                        self.bursts.v4.add_headers(header_fields::read(start));
                    }
                    self.pin_common(headers, *frame);
                }
            }
            None => self.push_general(*frame, number),
        }
    }

    /// Parses frames into the burst, each as [`BurstParser::push`] does, where [`BurstParser::is_plain`]: those that come in the order of
    /// their times, from `latest_ns` on, and before `alert_ns`. It stops before the first other one, which is the next of `frames` then. Returns
    /// how many there were, and the time of the last one, or `latest_ns`. `number`: that of the frame before the first.
    #[inline(always)]
    pub fn push_in_order<'f>(
        &mut self,
        frames: &mut (impl ExactSizeIterator<Item = Frame<'f>> + Clone),
        number: u64,
        latest_ns: u64,
        alert_ns: u64,
    ) -> (u64, u64) {
        debug_assert!(self.is_plain());
        let (mut count, mut latest) = (0, latest_ns);
        loop {
            let Self { bursts: Bursts { v4, .. }, config: ParserConfig { tunnel, .. }, seed, .. } = self;
            // Copies stay in registers.
            let (tunnel, seed, before) = (*tunnel, *seed, count);
            let mut places = v4.places(frames.len()).iter_mut();
            let stop = loop {
                let rest = frames.clone();
                let Some(frame) = frames.next() else { break None };
                if frame.time_ns < latest || frame.time_ns >= alert_ns {
                    *frames = rest;
                    break None;
                }
                latest = frame.time_ns;
                let (Some(headers), Some(packet)) = (common_headers(&frame, tunnel), places.next()) else {
                    break Some(frame);
                };
                count += 1;
                fill_common(packet, headers, &frame, None, false, &seed, number + count);
            };
            v4.filled((count - before) as usize);
            let Some(frame) = stop else { return (count, latest) };
            count += 1;
            self.push_general(frame, number + count);
        }
    }

    /// Pushes a frame as [`BurstParser::push`] does, where [`BurstParser::is_pinning`], for half of what looking for pins costs otherwise.
    #[inline(always)]
    pub fn push_pinning(&mut self, frame: &Frame<'_>, number: u64) {
        match (common_headers(frame, self.config.tunnel), &self.pins) {
            (Some(headers), Some(pins)) => {
                let packet = self.bursts.v4.add();
                fill_common(packet, headers, frame, None, false, &self.seed, number);
                if pins.may_have(packet.hash) {
                    self.pin_common(headers, *frame);
                }
            }
            _ => self.push_general(*frame, number),
        }
    }

    /// Parses a frame into the burst that did not arrive at its own time, but when stream time was `arrived_ns`.
    #[cold]
    pub fn push_out_of_order(&mut self, frame: &Frame<'_>, number: u64, arrived_ns: u64) {
        let (v4, v6) = self.bursts.lengths();
        self.push::<false>(frame, number);
        match self.bursts.lengths() {
            (now, _) if now != v4 => self.bursts.v4.set_arrival(arrived_ns),
            (_, now) if now != v6 => self.bursts.v6.set_arrival(arrived_ns),
            _ => {}
        }
    }

    #[inline(always)]
    fn add_common_segment(&mut self, headers: &CommonHeaders, frame: &Frame<'_>) {
        let total = u32::from(be16(headers, 16));
        // Without options, and with the whole header captured: most segments of some hosts. Anything else
        // takes the checked path.
        let is_common = headers[23] == protocol::TCP && headers[46] >> 4 == 5 && total >= 40;
        if is_common && frame.data.len() >= 54 {
            self.bursts.v4.add_segment(TcpSegment::from_payload(total - 40));
        } else {
            self.add_other_segment(headers, *frame);
        }
    }

    /// Names the last packet if its flow is pinned. The frame comes by value, so that for others it need not be put into memory.
    #[inline(never)]
    fn pin_common(&mut self, headers: &CommonHeaders, frame: Frame<'_>) {
        let Self { bursts: Bursts { v4, .. }, pins: Some(pins), .. } = self else { return };
        let is_pinned = |packet: &KeyedPacket<KeyV4>| pins.may_have(packet.hash) && pins.have(&packet.key);
        if v4.packets().last().is_some_and(is_pinned) {
            let segment = common_segment(headers, &frame);
            // Where all packets have segments, the remark was made of this one.
            let is_remarked = segment.is_unparsed() && !self.config.segments;
            self.remarks[Remark::SegmentUnparsed as usize] += u64::from(is_remarked);
            v4.pin(segment);
        }
    }

    // By value, as below.
    #[inline(never)]
    fn add_other_segment(&mut self, headers: &CommonHeaders, frame: Frame<'_>) {
        let segment = common_segment(headers, &frame);
        self.remarks[Remark::SegmentUnparsed as usize] += u64::from(segment.is_unparsed());
        self.bursts.v4.add_segment(segment);
    }

    /// Counts a frame that is not to be parsed at all.
    #[inline]
    pub fn skip(&mut self, reason: NotMeasured) {
        self.not_measured[reason as usize] += 1;
    }

    // Out of line, so that the common case stays small enough to inline into the engine's loop, and by value, so that it
    // need not put the frame into memory.
    #[inline(never)]
    fn push_general(&mut self, frame: Frame<'_>, number: u64) {
        let is_pinning = self.pins.is_some();
        let config = ParserConfig { segments: self.config.segments || is_pinning, ..self.config };
        match parse_as(&frame, &config) {
            Ok(packet) => {
                packet.remarks().for_each(|remark| self.remarks[remark as usize] += 1);
                let fields = PacketFields { number: number as u32, ..packet.fields };
                let Self { bursts: Bursts { v4, v6 }, config, seed, pins, .. } = self;
                let takes_segment = match packet.key {
                    PacketKey::V4(key) => add(v4, key, fields, &packet, config, pins.as_deref(), seed),
                    PacketKey::V6(key) => add(v6, key, fields, &packet, config, pins.as_deref(), seed),
                };
                let is_unparsed = takes_segment && packet.segment.is_unparsed();
                self.remarks[Remark::SegmentUnparsed as usize] += u64::from(is_unparsed);
            }
            Err(reason) => self.skip(reason),
        }
    }
}

/// The segment of a packet of the common case.
fn common_segment(headers: &CommonHeaders, frame: &Frame<'_>) -> TcpSegment {
    if headers[23] != protocol::TCP {
        return TcpSegment::NONE;
    }
    let bytes = frame.data.get(34..).unwrap_or_default();
    TcpSegment::read(ByteCursor::new(bytes, usize::from(be16(headers, 16)) - 20))
}

/// Returns true if packets are as loss tracking takes them, unless there are pins.
fn is_tracked(config: &ParserConfig) -> bool {
    config.key.is_five_tuple() && config.paired && config.segments && !config.headers
}

/// Adds a packet, with its segment where all packets have one, or its flow is pinned: then gives true.
fn add<K: MaskedKey>(
    burst: &mut KeyBurst<K>,
    key: K,
    fields: PacketFields,
    &Packet { segment, headers, .. }: &Packet,
    config: &ParserConfig,
    pins: Option<&Pins>,
    seed: &Seed,
) -> bool {
    let packet = KeyedPacket::new(key, fields, config.paired, seed);
    *burst.add() = packet;
    if config.segments {
        burst.add_segment(segment);
    }
    if config.headers {
        burst.add_headers(headers);
    }
    let is_pinned = pins.is_some_and(|pins| pins.may_have(packet.hash) && pins.have(&key));
    if is_pinned {
        burst.pin(segment);
    }
    is_pinned || config.segments
}
