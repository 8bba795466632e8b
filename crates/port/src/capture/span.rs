//! The time that a capture file covers, read from its begin and its end.

use super::CaptureSource;
use super::input::STANDARD_INPUT;
use crate::{PacketSource, Poll};
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};

/// The bytes at the begin and the end of a file that are looked at.
const LOOK: u64 = 1 << 20;
/// The bytes of the headers of a pcap file and of its records.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// The bytes that a record has at most.
const MOST_CAPTURED: u32 = 262_144;
/// The types of the blocks of a pcapng file that have packets with their times.
const PACKET_BLOCKS: [u32; 2] = [6, 2];
/// The least bytes of a block: type, and its length twice.
const LEAST_BLOCK: usize = 12;

/// Returns the times of the first and the last frame of a capture file, nanoseconds since the epoch, without reading what lies between. `None`
/// where that is not possible: of a pipe, of a compressed or a damaged file, and of a format that is rare.
pub fn capture_span(path: &str) -> Option<[u64; 2]> {
    if path == STANDARD_INPUT {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut begin = Vec::new();
    file.by_ref().take(LOOK).read_to_end(&mut begin).ok()?;
    file.seek(SeekFrom::Start(found.len().saturating_sub(LOOK))).ok()?;
    let mut end = Vec::new();
    file.take(LOOK).read_to_end(&mut end).ok()?;
    let is_little = match begin.first_chunk::<4>()? {
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => true,
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => false,
        [0x0a, 0x0d, 0x0d, 0x0a] => return of_blocks(&begin, &end),
        _ => return None,
    };
    let [first, _] = times(&begin)?;
    let last = last_record(&end, is_little, found.len() <= LOOK)?;
    let [last, _] = times(&[begin.get(..FILE_HEADER)?, last].concat())?;
    Some([first.min(last), first.max(last)])
}

/// Returns the times of the first and the last of the frames that come at once of a capture.
fn times(bytes: &[u8]) -> Option<[u64; 2]> {
    let total = bytes.len() as u64;
    let mut source = CaptureSource::from_reader("", Box::new(Cursor::new(bytes.to_vec())), Some(total), 64);
    for _ in 0..4 {
        match source.rx_burst().ok()? {
            Poll::Burst(burst) => {
                let mut times = burst.frames().map(|frame| frame.time_ns);
                let first = times.next()?;
                return Some([first, times.last().unwrap_or(first)]);
            }
            Poll::Idle => {}
            Poll::Ended => return None,
        }
    }
    None
}

fn number(bytes: &[u8], at: usize, is_little: bool) -> Option<u32> {
    let bytes = *bytes.get(at..)?.first_chunk::<4>()?;
    Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
}

/// Returns the last record of a pcap file: the records that follow one another up to the last byte begin at the right place, as others would
/// hardly end there. `is_whole`: the bytes are all of the file.
fn last_record(bytes: &[u8], is_little: bool, is_whole: bool) -> Option<&[u8]> {
    let first = if is_whole { FILE_HEADER } else { 0 };
    (first..bytes.len().saturating_sub(RECORD_HEADER)).find_map(|begin| {
        let mut at = begin;
        let mut last = begin;
        let mut records = 0;
        while at < bytes.len() {
            let [fraction, captured, wire] = [4, 8, 12].map(|place| number(bytes, at + place, is_little));
            let (fraction, captured, wire) = (fraction?, captured?, wire?);
            if fraction >= 1_000_000_000 || captured > MOST_CAPTURED || captured > wire.max(captured) {
                return None;
            }
            (last, records) = (at, records + 1);
            at += RECORD_HEADER + captured as usize;
        }
        // Of a part of a file one record might be a coincidence.
        let is_it = at == bytes.len() && (is_whole || records > 2);
        is_it.then(|| &bytes[last..])
    })
}

/// Returns the times of a pcapng file, whose blocks have their length at their end, too.
fn of_blocks(begin: &[u8], end: &[u8]) -> Option<[u64; 2]> {
    let is_little = match begin.get(8..12)? {
        [0x4d, 0x3c, 0x2b, 0x1a] => true,
        [0x1a, 0x2b, 0x3c, 0x4d] => false,
        _ => return None,
    };
    let header = descriptions(begin, is_little)?;
    let [first, _] = times(begin)?;
    let mut behind = end.len();
    loop {
        let length = number(end, behind.checked_sub(4)?, is_little)? as usize;
        let at = behind.checked_sub(length).filter(|_| length >= LEAST_BLOCK)?;
        if number(end, at + 4, is_little)? as usize != length {
            return None;
        }
        if PACKET_BLOCKS.contains(&number(end, at, is_little)?) {
            let [last, _] = times(&[header, &end[at..behind]].concat())?;
            return Some([first.min(last), first.max(last)]);
        }
        behind = at;
    }
}

/// Returns the blocks before the first packet: they describe the interfaces.
fn descriptions(begin: &[u8], is_little: bool) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        let (kind, length) = (number(begin, at, is_little)?, number(begin, at + 4, is_little)? as usize);
        if length < LEAST_BLOCK {
            return None;
        }
        if PACKET_BLOCKS.contains(&kind) {
            return begin.get(..at);
        }
        at += length;
    }
}
