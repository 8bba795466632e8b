//! The pcapng format: sections of typed blocks, each section in its own byte order.

use super::byte_order::ByteOrder;
use super::clock::TimestampConverter;
use super::pass::{MAX_CAPTURED, PassEnd, PassResult, Warnings, frame_lengths};
use super::stream::BLOCK;
use crate::{FrameDescriptor, SourceCounter};
use packet::LinkType;

/// Block type of a section header; it reads the same in both byte orders.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type and length before a block's body, and the length again after it.
const BLOCK_OVERHEAD: usize = 12;

/// The largest block that is read and not skipped: a frame of the largest size, and as much for its options.
const MAX_READ_BLOCK: usize = BLOCK / 2;

const UNTIMED: &str = "some frames carry no time (simple packet blocks): each takes that of the frame before";
const UNPADDED: &str = "some blocks state their length without the padding behind it: they are read with it";
const FOREIGN_STATISTICS: &str =
    "some statistics are of interfaces that the section does not describe: they are left out of the loss";

const EARLY_STATISTICS: &str =
    "packets follow the last statistics of their interfaces: what was lost after these is not known";

/// Interfaces of one section: only a damaged file has more.
const MAX_INTERFACES: usize = 1 << 16;

const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
const EPB_FLAGS: u16 = 2;
const EPB_DROPCOUNT: u16 = 4;
/// The count of drops of an obsolete packet block that does not know it.
const DROPS_UNKNOWN: u16 = u16::MAX;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// An interface of the current section.
struct PcapngInterface {
    link: LinkType,
    /// The snap length; zero where it is unlimited.
    snaplen: u32,
    fcs_len: u32,
    clock: TimestampConverter,
    dropped: Dropped,
    /// The time of the last packet before the interface's last statistics.
    statistics_at: Option<u64>,
}

/// The losses of an interface; `None` if they were never given.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Dropped {
    /// The frames dropped by the interface in its last statistics, which count from the beginning of the capture; `by_system` is of the same.
    by_interface: Option<u64>,
    by_system: Option<u64>,
    /// The sum of what each packet says was lost since the one before.
    by_packets: Option<u64>,
    /// `by_packets` at the last statistics: what packets say later is not in these.
    by_packets_then: u64,
}

/// The sum of what is known.
fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

impl Dropped {
    fn add(&mut self, other: &Self) {
        self.by_interface = sum(self.by_interface, other.by_interface);
        self.by_system = sum(self.by_system, other.by_system);
        self.by_packets = sum(self.by_packets, other.by_packets);
    }

    /// Returns the losses with each frame counted once: where an interface has both, they count the same frames up to the last statistics,
    /// and the larger count is right. The packets' is then what they have in excess of the statistics, and what they say behind these.
    fn once(self) -> Self {
        let Some(statistics) = sum(self.by_interface, self.by_system) else { return self };
        let then = self.by_packets_then;
        let excess =
            |dropped: u64| then.saturating_sub(statistics).saturating_add(dropped.saturating_sub(then));
        Self { by_packets: self.by_packets.map(excess).filter(|more| *more > 0), ..self }
    }
}

/// Reads the blocks of one file.
pub(super) struct PcapngReader {
    order: ByteOrder,
    interfaces: Vec<PcapngInterface>,
    /// Statistics of the sections that are over.
    dropped_before: Dropped,
    /// Time of the last frame, used for frames without a time.
    last_time_ns: u64,
    /// The block that was read last tells a loss.
    tells_loss: bool,
    /// A loss was told that [`PcapngReader::lost`] has not returned yet.
    has_new_loss: bool,
}

/// A packet block's parts, for any of the three kinds.
struct PacketBlock<'a> {
    data: &'a [u8],
    wire_len: u32,
    time_ns: u64,
    link: LinkType,
    fcs_len: u32,
}

/// Options of a block: code, value. `malformed` afterwards if one ran past the end.
struct BlockOptions<'a> {
    order: ByteOrder,
    rest: &'a [u8],
    malformed: bool,
}

impl<'a> Iterator for BlockOptions<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, behind) = self.rest.split_first_chunk::<4>()?;
        let (code, length) = (self.order.u16(header, 0), usize::from(self.order.u16(header, 2)));
        if code == 0 {
            return None;
        }
        let Some(value) = behind.get(..length) else {
            self.malformed = true;
            return None;
        };
        self.rest = behind.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((code, value))
    }
}

impl PcapngReader {
    pub(super) fn new() -> Self {
        Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            dropped_before: Dropped::default(),
            last_time_ns: 0,
            tells_loss: false,
            has_new_loss: false,
        }
    }

    /// The file, or a section of it, is at its end: says that statistics were written before the last packets, where they were.
    pub(super) fn end_section(&self, name: &str, warnings: &mut Warnings) {
        let is_early =
            |interface: &PcapngInterface| interface.statistics_at.is_some_and(|at| at != self.last_time_ns);
        if self.interfaces.iter().any(is_early) {
            warnings.remark(name, EARLY_STATISTICS);
        }
    }

    /// Returns whether the file told a loss that [`PcapngReader::lost`] has not returned yet.
    pub(super) fn has_new_loss(&self) -> bool {
        self.has_new_loss
    }

    /// The loss according to the interface statistics and the packets, if any has a count.
    pub(super) fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        self.has_new_loss = false;
        let mut sum = self.dropped_before;
        self.interfaces.iter().for_each(|interface| sum.add(&interface.dropped.once()));
        let counters = [
            ("isb_ifdrop", sum.by_interface),
            ("isb_osdrop", sum.by_system),
            ("epb_dropcount", sum.by_packets),
        ];
        let counters: Vec<SourceCounter> =
            counters.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect();
        (!counters.is_empty()).then_some(counters)
    }

    /// Describes the frames in `bytes`, which begin with a block.
    pub(super) fn parse(
        &mut self,
        bytes: &[u8],
        slots: &mut [FrameDescriptor],
        name: &str,
        warnings: &mut Warnings,
    ) -> PassResult {
        let mut frames = 0;
        let mut consumed = 0;
        self.tells_loss = false;
        let stop = loop {
            // A burst ends behind a loss: it is of the window that is open then.
            let Some(slot) = slots.get_mut(frames).filter(|_| !self.tells_loss) else {
                self.has_new_loss |= self.tells_loss;
                break PassEnd::Full;
            };
            // A skipped block may reach beyond the bytes in memory.
            let rest = bytes.get(consumed..).unwrap_or(&[]);
            match self.block(rest, name, warnings) {
                Ok((length, None)) => consumed += length,
                Ok((length, Some(packet))) => {
                    let (captured, wire_len) =
                        frame_lengths(packet.data.len() as u32, packet.wire_len, packet.fcs_len);
                    *slot = FrameDescriptor {
                        data: packet.data.as_ptr(),
                        time_ns: packet.time_ns,
                        captured,
                        wire_len,
                        link: packet.link,
                        stripped_vlan: None,
                        rss_hash: None,
                    };
                    frames += 1;
                    consumed += length;
                }
                Err(stop) => break stop,
            }
        };
        PassResult { frames, consumed: consumed as u64, stop }
    }

    /// Reads one block: its length, and the packet that it held.
    #[inline]
    fn block<'a>(
        &mut self,
        bytes: &'a [u8],
        name: &str,
        warnings: &mut Warnings,
    ) -> Result<(usize, Option<PacketBlock<'a>>), PassEnd> {
        let header = bytes.first_chunk::<BLOCK_OVERHEAD>().ok_or(PassEnd::Short(BLOCK_OVERHEAD))?;
        let kind = self.order.u32(header, 0);
        if kind == SECTION_HEADER {
            // The byte order of everything that follows, including the length of this block.
            self.order = section_byte_order(header)?;
        }
        let stated = self.order.u32(header, 4) as usize;
        if stated < BLOCK_OVERHEAD {
            return Err(damaged(format!("the block states the impossible length {stated}")));
        }
        // The length of a block is a multiple of four. Some writers leave the padding out of what they state, though not out of the file.
        let length = stated.next_multiple_of(4);
        if !matches!(
            kind,
            SECTION_HEADER
                | INTERFACE_DESCRIPTION
                | PACKET
                | SIMPLE_PACKET
                | INTERFACE_STATISTICS
                | ENHANCED_PACKET
        ) {
            return Ok((length, None));
        }
        if length > MAX_READ_BLOCK {
            return Err(damaged(format!("the block of type {kind} states a length of {length} bytes")));
        }
        let block = bytes.get(..length).ok_or(PassEnd::Short(length))?;
        let again = self.order.u32(block, length - 4) as usize;
        if again != stated {
            return Err(damaged(format!("the block states its length as {stated} and as {again}")));
        }
        if stated != length {
            warnings.remark(name, UNPADDED);
        }
        let body = &block[8..length - 4];
        let packet = match kind {
            ENHANCED_PACKET => Some(self.enhanced_packet(body)?),
            PACKET => Some(self.packet(body)?),
            SIMPLE_PACKET => {
                warnings.remark(name, UNTIMED);
                Some(self.simple_packet(body)?)
            }
            INTERFACE_DESCRIPTION => {
                self.interface_description(body, name, warnings)?;
                None
            }
            INTERFACE_STATISTICS => {
                self.interface_statistics(body, name, warnings)?;
                None
            }
            _ => {
                self.end_section(name, warnings);
                self.section_header(body)?;
                None
            }
        };
        Ok((length, packet))
    }

    fn section_header(&mut self, body: &[u8]) -> Result<(), PassEnd> {
        let body = at_least(body, 16, "section header")?;
        let (major, minor) = (self.order.u16(body, 4), self.order.u16(body, 6));
        if major != 1 {
            return Err(damaged(format!("the section has the unknown pcapng version {major}.{minor}")));
        }
        for interface in self.interfaces.drain(..) {
            self.dropped_before.add(&interface.dropped.once());
        }
        Ok(())
    }

    fn interface_description(
        &mut self,
        body: &[u8],
        name: &str,
        warnings: &mut Warnings,
    ) -> Result<(), PassEnd> {
        let body = at_least(body, 8, "interface description")?;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(damaged(format!("the section has more than {MAX_INTERFACES} interfaces")));
        }
        let (mut resolution, mut offset_s, mut fcs_len) = (None, 0, 0);
        self.each_option(&body[8..], |order, code, value| match (code, value) {
            (IF_TSRESOL, [value]) => resolution = Some(*value),
            (IF_TSOFFSET, value) => offset_s = order.u64(value).map_or(0, u64::cast_signed),
            (IF_FCSLEN, [value]) => fcs_len = u32::from(*value),
            _ => {}
        })?;
        // The specification counts it in bits and shows an example in bytes; files have both.
        if fcs_len >= 8 {
            fcs_len /= 8;
        }
        self.interfaces.push(PcapngInterface {
            link: warnings.link_type(name, self.order.u16(body, 0)),
            snaplen: self.order.u32(body, 4),
            fcs_len,
            clock: TimestampConverter::new(resolution, offset_s),
            dropped: Dropped::default(),
            statistics_at: None,
        });
        Ok(())
    }

    fn interface_statistics(
        &mut self,
        body: &[u8],
        name: &str,
        warnings: &mut Warnings,
    ) -> Result<(), PassEnd> {
        let body = at_least(body, 12, "interface statistics")?;
        let number = self.order.u32(body, 0);
        let Some(interface) = self.interfaces.get(number as usize) else {
            // The frames are there all the same.
            warnings.remark(name, FOREIGN_STATISTICS);
            return Ok(());
        };
        let mut dropped = interface.dropped;
        self.each_option(&body[12..], |order, code, value| match code {
            ISB_IFDROP => dropped.by_interface = order.u64(value).or(dropped.by_interface),
            ISB_OSDROP => dropped.by_system = order.u64(value).or(dropped.by_system),
            _ => {}
        })?;
        let at = self.last_time_ns;
        if let Some(interface) = self.interfaces.get_mut(number as usize) {
            dropped.by_packets_then = dropped.by_packets.unwrap_or(0);
            self.tells_loss = interface.dropped != dropped;
            interface.dropped = dropped;
            interface.statistics_at = sum(dropped.by_interface, dropped.by_system).map(|_| at);
        }
        Ok(())
    }

    #[inline]
    fn enhanced_packet<'a>(&mut self, body: &'a [u8]) -> Result<PacketBlock<'a>, PassEnd> {
        let body = at_least(body, 20, "packet")?;
        let number = self.order.u32(body, 0);
        let mut packet = self.timed_packet(body, number)?;
        let options = body.get(20 + packet.data.len().next_multiple_of(4)..).unwrap_or(&[]);
        if !options.is_empty() {
            let mut dropped = None;
            self.each_option(options, |order, code, value| match code {
                // Bits 5 to 8: bytes of frame check sequence in this frame, if present.
                EPB_FLAGS if value.len() == 4 => match (order.u32(value, 0) >> 5) & 0xf {
                    0 => {}
                    length => packet.fcs_len = length,
                },
                EPB_DROPCOUNT => dropped = order.u64(value).or(dropped),
                _ => {}
            })?;
            self.dropped(number, dropped);
        }
        Ok(packet)
    }

    /// The obsolete packet block: like the enhanced one, except for sixteen bits of interface number and a
    /// count of drops, of which none does not say that anybody counted.
    fn packet<'a>(&mut self, body: &'a [u8]) -> Result<PacketBlock<'a>, PassEnd> {
        let body = at_least(body, 20, "packet")?;
        let number = u32::from(self.order.u16(body, 0));
        let dropped = self.order.u16(body, 2);
        let packet = self.timed_packet(body, number)?;
        self.dropped(number, (dropped != 0 && dropped != DROPS_UNKNOWN).then_some(dropped.into()));
        Ok(packet)
    }

    /// Counts what a packet of this interface says was lost before it.
    fn dropped(&mut self, number: u32, dropped: Option<u64>) {
        if let (Some(interface), Some(_)) = (self.interfaces.get_mut(number as usize), dropped) {
            interface.dropped.by_packets = sum(interface.dropped.by_packets, dropped);
            self.tells_loss |= dropped != Some(0);
        }
    }

    fn simple_packet<'a>(&self, body: &'a [u8]) -> Result<PacketBlock<'a>, PassEnd> {
        let body = at_least(body, 4, "simple packet")?;
        let interface = self.interface(0)?;
        let wire_len = self.order.u32(body, 0);
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        Ok(PacketBlock {
            data: captured_bytes(&body[4..], wire_len.min(limit))?,
            wire_len,
            time_ns: self.last_time_ns,
            link: interface.link,
            fcs_len: interface.fcs_len,
        })
    }

    /// Reads what the enhanced and the obsolete packet block have in the same place.
    #[inline]
    fn timed_packet<'a>(&mut self, body: &'a [u8], number: u32) -> Result<PacketBlock<'a>, PassEnd> {
        let interface = self.interface(number)?;
        let ticks = u64::from(self.order.u32(body, 4)) << 32 | u64::from(self.order.u32(body, 8));
        let packet = PacketBlock {
            data: captured_bytes(&body[20..], self.order.u32(body, 12))?,
            wire_len: self.order.u32(body, 16),
            time_ns: interface.clock.nanoseconds(ticks),
            link: interface.link,
            fcs_len: interface.fcs_len,
        };
        self.last_time_ns = packet.time_ns;
        Ok(packet)
    }

    #[inline]
    fn interface(&self, number: u32) -> Result<&PcapngInterface, PassEnd> {
        self.interfaces.get(number as usize).ok_or_else(|| {
            damaged(format!("the block names interface {number}, which the section does not describe"))
        })
    }

    fn each_option(
        &self,
        options: &[u8],
        mut take: impl FnMut(ByteOrder, u16, &[u8]),
    ) -> Result<(), PassEnd> {
        let mut options = BlockOptions { order: self.order, rest: options, malformed: false };
        for (code, value) in &mut options {
            take(self.order, code, value);
        }
        if options.malformed { Err(damaged("an option runs past the end of its block")) } else { Ok(()) }
    }
}

fn damaged(reason: impl Into<String>) -> PassEnd {
    PassEnd::Damaged(reason.into())
}

fn section_byte_order(header: &[u8; BLOCK_OVERHEAD]) -> Result<ByteOrder, PassEnd> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32(header, 8) == BYTE_ORDER_MAGIC)
        .ok_or_else(|| damaged("the section header has no byte order mark"))
}

#[inline]
fn at_least<'a>(body: &'a [u8], length: usize, block: &str) -> Result<&'a [u8], PassEnd> {
    if body.len() >= length { Ok(body) } else { Err(damaged(format!("the {block} block is too short"))) }
}

#[inline]
fn captured_bytes(bytes: &[u8], captured: u32) -> Result<&[u8], PassEnd> {
    if captured > MAX_CAPTURED {
        return Err(damaged(format!(
            "the block states {captured} captured bytes, more than the {MAX_CAPTURED} that are possible"
        )));
    }
    bytes.get(..captured as usize).ok_or_else(|| {
        damaged(format!("the block states {captured} captured bytes and has room for {}", bytes.len()))
    })
}
