//! The pcap format: a file header, then records.

use super::byte_order::ByteOrder;
use super::pass::{MAX_CAPTURED, PassEnd, PassResult, frame_lengths};
use crate::FrameDescriptor;
use packet::LinkType;

/// Length of the file header.
pub(super) const RECOGNISED_LEN: usize = 24;
const RECORD_HEADER: usize = 16;

/// A variant of the format, identified by the magic number.
struct Flavour {
    magic: u32,
    /// Nanoseconds in one unit of the time's fraction.
    fraction_ns: u64,
    /// Bytes of the record header beyond the usual sixteen.
    more_record_header: usize,
    /// Bytes of the file header beyond the usual 24.
    more_file_header: u64,
}

const FLAVOURS: [Flavour; 5] = [
    Flavour { magic: 0xa1b2_c3d4, fraction_ns: 1000, more_record_header: 0, more_file_header: 0 },
    Flavour { magic: 0xa1b2_3c4d, fraction_ns: 1, more_record_header: 0, more_file_header: 0 },
    // Alexey Kuznetzov's patched libpcap: interface index, protocol and direction in each record.
    Flavour { magic: 0xa1b2_cd34, fraction_ns: 1000, more_record_header: 8, more_file_header: 0 },
    // IXIA's hardware and software captures: the length of all records after the file header.
    Flavour { magic: 0x1c00_01ac, fraction_ns: 1, more_record_header: 0, more_file_header: 4 },
    Flavour { magic: 0x1c00_01ab, fraction_ns: 1, more_record_header: 0, more_file_header: 4 },
];

/// The order of a record's two lengths, which changed between versions.
#[derive(Clone, Copy)]
enum LengthOrder {
    CapturedFirst,
    WireFirst,
    /// Version 2.3 had both: the captured length is the smaller.
    Either,
}

/// Reads the records of one file.
pub(super) struct PcapReader {
    order: ByteOrder,
    lengths: LengthOrder,
    fraction_ns: u64,
    record_header: usize,
    fcs_len: u32,
    link: LinkType,
}

fn flavour(magic: [u8; 4]) -> Option<(&'static Flavour, ByteOrder)> {
    FLAVOURS.iter().find_map(|flavour| {
        [(ByteOrder::Little, u32::from_le_bytes(magic)), (ByteOrder::Big, u32::from_be_bytes(magic))]
            .into_iter()
            .find_map(|(order, number)| (number == flavour.magic).then_some((flavour, order)))
    })
}

impl PcapReader {
    /// True for the first bytes of a pcap file.
    pub(super) fn is_magic(magic: [u8; 4]) -> bool {
        flavour(magic).is_some()
    }

    /// Reads the file header: the reader of its records, and their beginning.
    pub(super) fn new(
        header: &[u8; RECOGNISED_LEN],
        link_type: impl FnOnce(u16) -> LinkType,
    ) -> Result<(Self, u64), String> {
        let Some((flavour, order)) = header.first_chunk::<4>().and_then(|magic| flavour(*magic)) else {
            return Err(super::pass::foreign(header));
        };
        let lengths = match (order.u16(header, 4), order.u16(header, 6)) {
            (2, 4) => LengthOrder::CapturedFirst,
            (2, 3) => LengthOrder::Either,
            // 543.0 was written by DG/UX.
            (2, 0..=2) | (543, 0) => LengthOrder::WireFirst,
            (major, minor) => {
                return Err(format!("the pcap file header has the unknown version {major}.{minor}"));
            }
        };
        // Low half: link type. If bit 26 is set, the upper four bits give the length of the frame check
        // sequence in units of two bytes.
        let network = order.u32(header, 20);
        let fcs_len = if network & 0x0400_0000 != 0 { (network >> 28) * 2 } else { 0 };
        let reader = Self {
            order,
            lengths,
            fraction_ns: flavour.fraction_ns,
            record_header: RECORD_HEADER + flavour.more_record_header,
            fcs_len,
            link: link_type(network as u16),
        };
        Ok((reader, RECOGNISED_LEN as u64 + flavour.more_file_header))
    }

    /// Describes the frames in `bytes`, which begin with a record.
    pub(super) fn parse(&self, bytes: &[u8], slots: &mut [FrameDescriptor]) -> PassResult {
        let Self { order, lengths, record_header, fcs_len, .. } = *self;
        // A loop for the common case, without swaps or decisions per record: 33 instructions instead of 45.
        match (order, lengths, record_header, fcs_len) {
            (ByteOrder::Little, LengthOrder::CapturedFirst, RECORD_HEADER, 0) => {
                self.records((ByteOrder::Little, LengthOrder::CapturedFirst, RECORD_HEADER, 0), bytes, slots)
            }
            shape => self.records(shape, bytes, slots),
        }
    }

    #[inline(always)]
    fn records(
        &self,
        (order, lengths, record_header, fcs_len): (ByteOrder, LengthOrder, usize, u32),
        bytes: &[u8],
        slots: &mut [FrameDescriptor],
    ) -> PassResult {
        let mut rest = bytes;
        let mut frames = 0;
        let mut stop = PassEnd::Full;
        for slot in slots {
            let Some(header) = rest.first_chunk::<RECORD_HEADER>() else {
                stop = PassEnd::Short(record_header);
                break;
            };
            let (first, second) = (order.u32(header, 8), order.u32(header, 12));
            let (captured, wire) = match lengths {
                LengthOrder::CapturedFirst => (first, second),
                LengthOrder::WireFirst => (second, first),
                LengthOrder::Either => (first.min(second), first.max(second)),
            };
            if captured > MAX_CAPTURED {
                stop = PassEnd::Damaged(format!(
                    "the record states {captured} captured bytes, more than the {MAX_CAPTURED} that are possible"
                ));
                break;
            }
            let length = record_header + captured as usize;
            let Some((record, behind)) = rest.split_at_checked(length) else {
                stop = PassEnd::Short(length);
                break;
            };
            let (captured, wire_len) = frame_lengths(captured, wire, fcs_len);
            // At most 2^32 seconds and 2^32 microseconds: far below 2^64.
            let time_ns = u64::from(order.u32(header, 0)) * 1_000_000_000
                + u64::from(order.u32(header, 4)) * self.fraction_ns;
            *slot = FrameDescriptor {
                data: record[record_header..].as_ptr(),
                time_ns,
                captured,
                wire_len,
                link: self.link,
                stripped_vlan: None,
                rss_hash: None,
            };
            frames += 1;
            rest = behind;
        }
        PassResult { frames, consumed: (bytes.len() - rest.len()) as u64, stop }
    }
}
