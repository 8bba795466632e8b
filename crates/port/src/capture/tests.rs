//! Captures written byte by byte, after the format documents and not by the crate's own writer.

mod cuts;

use super::*;
use crate::SourceSetting;
use packet::LinkType;
use std::io::{Cursor, ErrorKind, Write};

/// A frame that a test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    data: Vec<u8>,
    wire_len: u32,
    time_ns: u64,
    link: LinkType,
}

/// Reads all frames; the error if the source ended with one.
fn drain(source: &mut CaptureSource) -> (Vec<Seen>, Option<SourceError>) {
    let mut frames = Vec::new();
    loop {
        match source.rx_burst() {
            Ok(Poll::Burst(burst)) => {
                assert!(!burst.is_empty());
                frames.extend(burst.frames().map(|frame| Seen {
                    data: frame.data.to_vec(),
                    wire_len: frame.wire_len,
                    time_ns: frame.time_ns,
                    link: frame.link,
                }));
            }
            Ok(Poll::Idle) => {}
            Ok(Poll::Ended) => return (frames, None),
            Err(error) => {
                assert!(matches!(source.rx_burst(), Ok(Poll::Ended)), "after an error there is only the end");
                return (frames, Some(error));
            }
        }
    }
}

fn source(bytes: Vec<u8>) -> CaptureSource {
    let total = Some(bytes.len() as u64);
    CaptureSource::from_reader("test.pcap", Box::new(Cursor::new(bytes)), total, 3)
}

fn whole(bytes: Vec<u8>) -> Vec<Seen> {
    let (frames, error) = drain(&mut source(bytes));
    assert_eq!(error, None);
    frames
}

fn damage(bytes: Vec<u8>) -> (Vec<Seen>, String) {
    match drain(&mut source(bytes)) {
        (frames, Some(SourceError::Damaged(text))) => {
            assert!(
                text.starts_with("test.pcap: ") && text.contains("at byte ") && !text.contains('\n'),
                "{text}"
            );
            (frames, text)
        }
        other => panic!("expected damage, got {other:?}"),
    }
}

/// Integers in one byte order.
#[derive(Clone, Copy)]
struct Put {
    big: bool,
}

const LITTLE: Put = Put { big: false };
const BIG: Put = Put { big: true };

impl Put {
    fn u16(self, value: u16) -> Vec<u8> {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec()
    }

    fn u32(self, value: u32) -> Vec<u8> {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec()
    }

    fn u64(self, value: u64) -> Vec<u8> {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec()
    }

    fn pcap_header(self, magic: u32, version: (u16, u16), network: u32) -> Vec<u8> {
        let (major, minor) = version;
        let parts = [self.u32(magic), self.u16(major), self.u16(minor), vec![0; 8], self.u32(65535)];
        [parts.concat(), self.u32(network)].concat()
    }

    fn pcap_record(self, time: (u32, u32), captured: u32, wire: u32, data: &[u8]) -> Vec<u8> {
        let header = [time.0, time.1, captured, wire].map(|field| self.u32(field)).concat();
        [&header, data].concat()
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let body = padded(body);
        let length = self.u32(body.len() as u32 + 12);
        [self.u32(kind), length.clone(), body, length].concat()
    }

    fn section(self) -> Vec<u8> {
        self.block(0x0a0d_0d0a, &[self.u32(0x1a2b_3c4d), self.u16(1), self.u16(0), vec![0xff; 8]].concat())
    }

    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        [self.u16(code), self.u16(value.len() as u16), padded(value)].concat()
    }

    fn interface(self, link: u16, snaplen: u32, options: &[Vec<u8>]) -> Vec<u8> {
        let body = [self.u16(link), self.u16(0), self.u32(snaplen), options.concat()].concat();
        self.block(1, &body)
    }

    fn enhanced(self, interface: u32, ticks: u64, wire: u32, data: &[u8], options: &[Vec<u8>]) -> Vec<u8> {
        let fields = [interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, wire];
        let fields = fields.map(|field| self.u32(field)).concat();
        self.block(6, &[fields, padded(data), options.concat()].concat())
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn seen(data: &[u8], wire_len: u32, time_ns: u64, link: LinkType) -> Seen {
    Seen { data: data.to_vec(), wire_len, time_ns, link }
}

/// Frames of lengths 0 to 9, with wire lengths beyond.
fn some_pcap(put: Put, magic: u32, more: &[u8]) -> Vec<u8> {
    let mut file = put.pcap_header(magic, (2, 4), 1);
    for n in 0..10u32 {
        let data: Vec<u8> = (0..n as u8).collect();
        file.extend(put.pcap_record((1000 + n, 5 * n), n, n + 60, &[more, &data].concat()));
    }
    file
}

fn some_frames(fraction_ns: u64) -> Vec<Seen> {
    (0..10u32)
        .map(|n| {
            let data: Vec<u8> = (0..n as u8).collect();
            let time_ns = (1000 + u64::from(n)) * 1_000_000_000 + 5 * u64::from(n) * fraction_ns;
            seen(&data, n + 60, time_ns, LinkType::Ethernet)
        })
        .collect()
}

/// Both byte orders, interfaces of three link types and resolutions, every kind of packet block, statistics.
fn some_pcapng() -> (Vec<u8>, Vec<Seen>) {
    let mut file = Vec::new();
    let mut frames = Vec::new();
    for put in [LITTLE, BIG] {
        file.extend(put.section());
        file.extend(put.interface(1, 4, &[]));
        file.extend(put.interface(113, 0, &[put.option(9, &[9]), put.option(0, &[])]));
        file.extend(put.block(0x0bad_cafe, &[7; 33]));
        file.extend(put.interface(147, 0, &[put.option(14, &put.u64(100)), put.option(9, &[0x80 | 10])]));
        file.extend(put.enhanced(0, 1_000_001, 60, b"abcd", &[]));
        frames.push(seen(b"abcd", 60, 1_000_001_000, LinkType::Ethernet));
        file.extend(put.block(3, &[put.u32(6), b"efgh".to_vec()].concat()));
        frames.push(seen(b"efgh", 6, 1_000_001_000, LinkType::Ethernet));
        file.extend(put.enhanced(1, 0x1_0000_0003, 5, b"ijklm", &[put.option(1, b"comment")]));
        frames.push(seen(b"ijklm", 5, 0x1_0000_0003, LinkType::LinuxCooked));
        let obsolete =
            [put.u16(2), put.u16(9), put.u32(0), put.u32(512), put.u32(1), put.u32(0), b"n".to_vec()];
        file.extend(put.block(2, &obsolete.concat()));
        frames.push(seen(b"n", 1, 100_500_000_000, LinkType::Unsupported));
        for (interface, drops) in [(0u32, 4u64), (0, 5), (1, 7)] {
            let body = [put.u32(interface), vec![0; 8], put.option(5, &put.u64(drops)), put.option(0, &[])];
            file.extend(put.block(5, &body.concat()));
        }
    }
    (file, frames)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn pcap_in_every_flavour() {
    for put in [LITTLE, BIG] {
        assert_eq!(whole(some_pcap(put, 0xa1b2_c3d4, &[])), some_frames(1000));
        assert_eq!(whole(some_pcap(put, 0xa1b2_3c4d, &[])), some_frames(1));
        assert_eq!(whole(some_pcap(put, 0xa1b2_cd34, &[9; 8])), some_frames(1000));
        for ixia in [0x1c00_01ac, 0x1c00_01ab] {
            let mut file = some_pcap(put, ixia, &[]);
            file.splice(24..24, [0; 4]);
            assert_eq!(whole(file), some_frames(1));
        }
    }
}

#[test]
fn pcap_versions() {
    for put in [LITTLE, BIG] {
        for (version, captured, wire) in
            [((2, 4), 3, 9), ((2, 3), 3, 9), ((2, 3), 9, 3), ((2, 2), 9, 3), ((543, 0), 9, 3)]
        {
            let record = put.pcap_record((1, 0), captured, wire, b"abc");
            let file = [put.pcap_header(0xa1b2_c3d4, version, 101), record].concat();
            assert_eq!(whole(file), [seen(b"abc", 9, 1_000_000_000, LinkType::Raw)], "{version:?}");
        }
        let (frames, text) = damage(put.pcap_header(0xa1b2_c3d4, (3, 0), 1));
        assert!(frames.is_empty() && text.contains("version 3.0"), "{text}");
    }
}

#[test]
fn a_check_sequence_is_removed() {
    // Bit 26: the upper four bits are its length in units of two bytes.
    let network = 0x2400_0001;
    for (captured, wire, left, wire_left) in
        [(8, 8, 4, 4), (6, 8, 4, 4), (3, 8, 3, 4), (2, 2, 0, 0), (9, 8, 5, 5)]
    {
        let data = &b"abcdefghi"[..captured as usize];
        let record = LITTLE.pcap_record((0, 0), captured, wire, data);
        let file = [LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), network), record].concat();
        assert_eq!(whole(file), [seen(&data[..left], wire_left, 0, LinkType::Ethernet)]);
    }
    // In pcapng: in bytes or bits of the interface, or of the one frame.
    for (fcs, flags, left) in
        [(Some(4), None, 4), (Some(32), None, 4), (None, Some(2 << 5), 6), (Some(4), Some(1), 4)]
    {
        let fcs = fcs.map(|fcs| LITTLE.option(13, &[fcs]));
        let flags = flags.map(|flags| LITTLE.option(2, &LITTLE.u32(flags)));
        let file = [
            LITTLE.section(),
            LITTLE.interface(1, 0, fcs.as_slice()),
            LITTLE.enhanced(0, 0, 8, b"abcdefgh", flags.as_slice()),
        ];
        assert_eq!(whole(file.concat()), [seen(&b"abcdefgh"[..left], left as u32, 0, LinkType::Ethernet)]);
    }
}

#[test]
fn pcapng_of_careless_writers_is_read_with_a_remark() {
    let start = [LITTLE.section(), LITTLE.interface(1, 0, &[])].concat();
    let frames = [&b"abc"[..], b"defgh"].map(|data| LITTLE.enhanced(0, 0, 9, data, &[]));
    let seen = [&b"abc"[..], b"defgh"].map(|data| seen(data, 9, 0, LinkType::Ethernet));
    // The padding is in the file, and not in the length that is stated before and after it.
    let unpadded = frames.clone().map(|mut block| {
        let stated = LITTLE.u32(block.len() as u32 - 1);
        block[4..8].copy_from_slice(&stated);
        let end = block.len() - 4;
        block[end..].copy_from_slice(&stated);
        block
    });
    // Seven frames were dropped by an interface that no block describes.
    let statistics =
        LITTLE.block(5, &[LITTLE.u32(4), vec![0; 8], LITTLE.option(5, &[7, 0, 0, 0, 0, 0, 0, 0])].concat());
    let [first, second] = frames;
    let foreign = [first, statistics, second];
    for (blocks, remark) in
        [(unpadded.concat(), "without the padding"), (foreign.concat(), "left out of the loss")]
    {
        let mut source = source([start.clone(), blocks].concat());
        assert_eq!(drain(&mut source), (seen.to_vec(), None));
        assert_eq!(source.lost(), None);
        let warnings = source.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(remark), "{warnings:?}");
    }
}

/// What packets say was lost before them, of each interface; where its statistics count too, the larger count.
#[test]
fn pcapng_packets_say_what_was_lost() {
    const DROPS: u16 = 4;
    for order in [LITTLE, BIG] {
        let packet = |interface, dropped: Option<u64>| {
            let option = dropped.map(|dropped| order.option(DROPS, &order.u64(dropped)));
            order.enhanced(interface, 0, 9, b"abc", option.as_slice())
        };
        let statistics = |interface, code, dropped| {
            order.block(
                5,
                &[order.u32(interface), vec![0; 8], order.option(code, &order.u64(dropped))].concat(),
            )
        };
        let lost = |blocks: &[Vec<u8>]| {
            let start = [order.section(), order.interface(1, 0, &[]), order.interface(1, 0, &[])].concat();
            let mut source = source([start, blocks.concat()].concat());
            assert_eq!(drain(&mut source).1, None);
            source.lost()
        };
        assert_eq!(lost(&[packet(0, None)]), None);
        assert_eq!(lost(&[packet(0, Some(0)), packet(0, None)]), Some(vec![("epb_dropcount", 0)]));
        assert_eq!(
            lost(&[packet(0, Some(7)), packet(1, Some(100)), packet(0, None), packet(0, Some(5))]),
            Some(vec![("epb_dropcount", 112)])
        );
        // The same frames: they are counted once.
        assert_eq!(lost(&[packet(0, Some(7)), statistics(0, 5, 7)]), Some(vec![("isb_ifdrop", 7)]));
        assert_eq!(lost(&[packet(0, Some(7)), statistics(0, 7, 9)]), Some(vec![("isb_osdrop", 9)]));
        // Statistics from before the last packets, and those of another interface.
        assert_eq!(
            lost(&[packet(0, Some(7)), statistics(0, 5, 7), packet(0, Some(3)), packet(1, Some(2))]),
            Some(vec![("isb_ifdrop", 7), ("epb_dropcount", 5)])
        );
        // What packets say behind the last statistics is not in these.
        assert_eq!(
            lost(&[statistics(0, 5, 10), packet(0, Some(3))]),
            Some(vec![("isb_ifdrop", 10), ("epb_dropcount", 3)])
        );
        assert_eq!(
            lost(&[packet(0, Some(12)), statistics(0, 5, 10), packet(0, Some(3))]),
            Some(vec![("isb_ifdrop", 10), ("epb_dropcount", 5)])
        );
        assert_eq!(
            lost(&[statistics(0, 5, 10), packet(0, Some(3)), statistics(0, 5, 30)]),
            Some(vec![("isb_ifdrop", 30)])
        );
        // A remark says it where no statistics follow the last packet.
        let remarks = |blocks: &[Vec<u8>]| {
            let start = [order.section(), order.interface(1, 0, &[])].concat();
            let mut source = source([start, blocks.concat()].concat());
            assert_eq!(drain(&mut source).1, None);
            source.warnings().iter().filter(|line| line.contains("what was lost after")).count()
        };
        let later = order.enhanced(0, 10, 9, b"abc", &[]);
        assert_eq!(remarks(&[packet(0, None), statistics(0, 5, 7)]), 0);
        assert_eq!(remarks(&[packet(0, None), statistics(0, 5, 0), later.clone()]), 1);
        assert_eq!(remarks(&[packet(0, None), statistics(0, 5, 0), later.clone(), statistics(0, 5, 7)]), 0);
        let next = [order.section(), order.interface(1, 0, &[]), later.clone()].concat();
        assert_eq!(remarks(&[packet(0, None), statistics(0, 5, 7), next.clone()]), 0);
        assert_eq!(remarks(&[packet(0, None), statistics(0, 5, 7), later, next]), 1);
        // A section of its own.
        let again = [order.section(), order.interface(1, 0, &[])].concat();
        assert_eq!(lost(&[packet(0, Some(7)), again, packet(0, Some(1))]), Some(vec![("epb_dropcount", 8)]));
        // The obsolete block has sixteen bits; none says nothing, and all ones that it is not known.
        let obsolete = |drops: u16| {
            let body =
                [order.u16(0), order.u16(drops), vec![0; 8], order.u32(3), order.u32(9), b"abc\0".to_vec()];
            order.block(2, &body.concat())
        };
        assert_eq!(lost(&[obsolete(0), obsolete(u16::MAX)]), None);
        assert_eq!(lost(&[obsolete(4), obsolete(0), obsolete(2)]), Some(vec![("epb_dropcount", 6)]));
    }
}

#[test]
fn a_loss_that_two_counters_tell_one_after_the_other_is_one() {
    let mut told = Vec::new();
    let mut tell = |now: &[SourceCounter]| {
        told = grown(&told, now);
        told.clone()
    };
    assert_eq!(tell(&[("epb_dropcount", 50)]), [("epb_dropcount", 50)]);
    assert_eq!(tell(&[("isb_ifdrop", 50)]), [("isb_ifdrop", 0), ("epb_dropcount", 50)]);
    assert_eq!(tell(&[("isb_ifdrop", 80)]), [("isb_ifdrop", 30), ("epb_dropcount", 50)]);
    assert_eq!(
        tell(&[("isb_ifdrop", 80), ("epb_dropcount", 4)]),
        [("isb_ifdrop", 34), ("epb_dropcount", 50)]
    );
    // Statistics that begin anew tell nothing more until they are more.
    assert_eq!(tell(&[("isb_ifdrop", 5)]), [("isb_ifdrop", 34), ("epb_dropcount", 50)]);
}

#[test]
fn pcapng_with_all_its_blocks() {
    let (file, frames) = some_pcapng();
    let mut source = source(file);
    assert_eq!(drain(&mut source), (frames, None));
    // Two sections; in each the last of interface 0 and that of interface 1, and what the packet of interface 2 says, which has none.
    assert_eq!(source.lost(), Some(vec![("isb_ifdrop", 24), ("epb_dropcount", 18)]));
    let warnings = source.warnings();
    assert!(
        warnings.len() == 2 && warnings[0].contains("147") && warnings[1].contains("no time"),
        "{warnings:?}"
    );
    assert!(source.warnings().is_empty());
    assert_eq!(self::source(some_pcap(LITTLE, 0xa1b2_c3d4, &[])).lost(), None);
}

#[test]
fn compressed_captures() {
    let file = some_pcap(LITTLE, 0xa1b2_3c4d, &[]);
    let (front, back) = file.split_at(77);
    let one = gzip(&file);
    let members = [gzip(front), gzip(back)].concat();
    let zstd = zstd::encode_all(&file[..], 3).unwrap();
    let skippable = [&[0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd].concat();
    for compressed in [one.clone(), members, zstd.clone(), skippable] {
        let length = compressed.len() as u64;
        let mut source = source(compressed);
        assert_eq!(drain(&mut source), (some_frames(1), None));
        assert_eq!(source.progress(), Some(SourceProgress { done: length, total: Some(length) }));
    }
    for (compressed, name) in [(one, "gzip"), (zstd, "zstd")] {
        for cut in 4..compressed.len() {
            let (frames, text) = damage(compressed[..cut].to_vec());
            assert!(text.contains(name), "{text}");
            assert!(some_frames(1).starts_with(&frames));
        }
        let mut broken = compressed.clone();
        let at = broken.len() - 6;
        broken[at] ^= 0xff;
        let (_, text) = damage(broken);
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn cut_at_every_byte() {
    for file in [some_pcap(LITTLE, 0xa1b2_c3d4, &[]), some_pcap(BIG, 0xa1b2_3c4d, &[])] {
        for cut in 0..file.len() {
            let ends: Vec<usize> = (0..=10usize).map(|n| 24 + 16 * n + n * n.saturating_sub(1) / 2).collect();
            let complete = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            let (frames, error) = drain(&mut source(file[..cut].to_vec()));
            assert_eq!(frames.len(), complete, "cut at {cut}");
            assert_eq!(error.is_none(), ends.contains(&cut), "cut at {cut}: {error:?}");
        }
    }
    let (file, frames) = some_pcapng();
    // Where blocks end, and how many frames there are before.
    let mut ends = vec![(0, 0)];
    let (mut at, mut before) = (0, 0);
    let second_section = file.len() / 2;
    while at < file.len() {
        let put = if at < second_section { u32::from_le_bytes } else { u32::from_be_bytes };
        let field = |at: usize| put(file[at..at + 4].try_into().unwrap());
        before += usize::from(matches!(field(at), 2 | 3 | 6));
        at += field(at + 4) as usize;
        ends.push((at, before));
    }
    for cut in 0..file.len() {
        let (end, complete) = *ends.iter().rfind(|(end, _)| *end <= cut).unwrap();
        let (got, error) = drain(&mut source(file[..cut].to_vec()));
        assert_eq!(got, frames[..complete], "cut at {cut}");
        assert_eq!(error.is_none(), end == cut && cut > 0, "cut at {cut}: {error:?}");
    }
}

#[test]
fn every_byte_damaged_in_turn() {
    let (pcapng, _) = some_pcapng();
    for file in [some_pcap(LITTLE, 0xa1b2_c3d4, &[]), pcapng] {
        for at in 0..file.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut broken = file.clone();
                broken[at] = value;
                // Any answer is right that is not a panic and comes to an end.
                let (frames, _) = drain(&mut source(broken));
                assert!(frames.iter().all(|frame| frame.data.len() <= frame.wire_len as usize));
            }
        }
    }
}

#[test]
fn foreign_and_empty_files() {
    for (bytes, says) in [
        (&b""[..], "it is empty"),
        (&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "cut short: its header has 6 bytes of 24"),
    ] {
        let (frames, text) = damage(bytes.to_vec());
        assert!(frames.is_empty() && text.contains(says), "{text}");
    }
    for (bytes, says) in
        [(&b"ab"[..], "it starts with 61 62 ("), (b"# Edison", "it starts with 23 20 45 64 (")]
    {
        let (frames, error) = drain(&mut source(bytes.to_vec()));
        let Some(SourceError::Open(text)) = error else { panic!("{error:?}") };
        assert!(
            frames.is_empty() && text.starts_with("test.pcap: not a capture file: ") && text.contains(says),
            "{text}"
        );
    }
    assert_eq!(whole(LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 1)), []);
    assert_eq!(whole(BIG.section()), []);
}

#[test]
fn damaged_records_say_where_and_why() {
    let header = LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 1);
    let good = LITTLE.pcap_record((0, 0), 2, 2, b"ab");
    let huge = LITTLE.pcap_record((0, 0), 262_145, 9, b"cd");
    let (frames, text) = damage([header.clone(), good.clone(), huge].concat());
    assert!(frames.len() == 1 && text.contains("262145") && text.contains("at byte 42"), "{text}");
    let largest = LITTLE.pcap_record((0, 0), 262_144, 9, &vec![7; 262_144]);
    assert_eq!(whole([header, good, largest].concat())[1].wire_len, 262_144);

    let start = [LITTLE.section(), LITTLE.interface(1, 0, &[])].concat();
    let frame = LITTLE.enhanced(0, 0, 2, b"ab", &[]);
    let mut other_length = frame.clone();
    *other_length.last_mut().unwrap() = 1;
    for (block, says) in [
        (LITTLE.enhanced(1, 0, 2, b"ab", &[]), "interface 1"),
        (other_length, "its length as"),
        (LITTLE.block(6, &[0; 16]), "too short"),
        (LITTLE.block(6, &[&[0; 12][..], &LITTLE.u32(9), &[0; 8]].concat()), "room for 4"),
        (LITTLE.enhanced(0, 0, 2, b"ab", &[[1, 0, 99, 0].to_vec()]), "option"),
        ([6, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0].to_vec(), "impossible length 8"),
        ([6, 0, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0, 0].to_vec(), "states a length of"),
        ([9, 0, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0, 0].to_vec(), "cut short"),
    ] {
        let (frames, text) = damage([start.clone(), frame.clone(), block].concat());
        assert!(frames.len() == 1 && text.contains(says), "{text}");
    }
}

/// Gives a byte at a time, and nothing at first, as a slow pipe does.
struct Slow {
    bytes: Cursor<Vec<u8>>,
    pause: bool,
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.pause = !self.pause;
        if self.pause {
            return Err(ErrorKind::WouldBlock.into());
        }
        let length = buffer.len().min(1);
        self.bytes.read(&mut buffer[..length])
    }
}

#[test]
fn a_slow_pipe_is_idle_and_loses_nothing() {
    let plain = some_pcap(BIG, 0xa1b2_3c4d, &[]);
    for bytes in [plain.clone(), gzip(&plain), zstd::encode_all(&plain[..], 3).unwrap()] {
        let slow = Slow { bytes: Cursor::new(bytes), pause: false };
        let mut source = CaptureSource::from_reader("-", Box::new(slow), None, 64);
        assert!(matches!(source.rx_burst(), Ok(Poll::Idle)));
        assert_eq!(drain(&mut source), (some_frames(1), None));
    }
    let mut source = CaptureSource::from_reader("-", Box::new(Cursor::new(b"x")), None, 64);
    let (_, error) = drain(&mut source);
    assert!(error.unwrap().to_string().starts_with("standard input: not a capture file"));
}

#[test]
fn records_across_many_blocks() {
    // More than two blocks of memory, with records of all sizes on their borders, and a long unknown block.
    let mut file = [LITTLE.section(), LITTLE.interface(1, 0, &[])].concat();
    let mut expected = Vec::new();
    for n in 0..4000u32 {
        let data = vec![n as u8; (n as usize * 37) % 1500];
        file.extend(LITTLE.enhanced(0, n.into(), data.len() as u32, &data, &[]));
        expected.push(seen(&data, data.len() as u32, u64::from(n) * 1000, LinkType::Ethernet));
        if n == 2000 {
            file.extend(LITTLE.block(0xbad, &vec![1; 3 * stream::BLOCK]));
        }
    }
    assert!(file.len() > 5 * stream::BLOCK);
    assert!(whole(file) == expected);
}

#[test]
fn the_writer_is_read_back() {
    let mut writer = CaptureWriter::new(Vec::new(), 228, 5).unwrap();
    writer.write(1_700_000_000_123_456_789, b"abcdefg", 7).unwrap();
    writer.write(u64::MAX, b"", 0).unwrap();
    let file = writer.finish().unwrap();
    let put = Put { big: cfg!(target_endian = "big") };
    let mut by_hand = put.pcap_header(0xa1b2_3c4d, (2, 4), 228);
    by_hand[16..20].copy_from_slice(&put.u32(5));
    by_hand.extend(put.pcap_record((1_700_000_000, 123_456_789), 5, 7, b"abcde"));
    by_hand.extend(put.pcap_record((u32::MAX, 709_551_615), 0, 0, b""));
    assert_eq!(file, by_hand);
    let frames = whole(file);
    assert_eq!(frames[0], seen(b"abcde", 7, 1_700_000_000_123_456_789, LinkType::RawIpv4));
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    for (path, says) in [("/nowhere/at.pcap", "check the name"), ("/", "is a directory")] {
        let Err(error) = CaptureSource::open(path, 64) else { panic!("{path} was opened") };
        let is_missing = says == "check the name";
        assert_eq!(
            is_missing,
            matches!(error, SourceError::Refused(SourceSetting::CaptureName, _)),
            "{error:?}"
        );
        assert_eq!(!is_missing, matches!(error, SourceError::Open(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(path) && text.contains(says), "{text}");
    }
}

#[test]
fn a_fault_of_the_disk_is_no_damage() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(libc::EIO))
        }
    }
    let file = some_pcap(LITTLE, 0xa1b2_c3d4, &[]);
    for start in [file.clone(), gzip(&file)[..30].to_vec()] {
        let input = Cursor::new(start).chain(Broken);
        let mut source = CaptureSource::from_reader("disk", Box::new(input), None, 64);
        assert!(matches!(drain(&mut source).1, Some(SourceError::Fault(_))));
    }
}

/// The times of the first and the last frame are those that reading all of the file finds.
#[test]
fn the_span_of_a_capture_is_read_from_its_ends() {
    let path = std::env::temp_dir().join(format!("edison-span-{}", std::process::id()));
    let name = path.to_str().expect("UTF-8").to_owned();
    let write = |bytes: &[u8]| std::fs::write(&path, bytes).expect("it is written");
    let times = |count: u64| (0..count).map(|at| 1_764_590_400_000_000_000 + at * 7_000_001);
    // Few frames, and more than are looked at.
    for count in [1, 3, 60_000] {
        let mut pcap = crate::CaptureWriter::new(Vec::new(), 1, 65_535).expect("a header");
        let mut pcapng = crate::PcapngWriter::new(Vec::new(), "test", "", "eth0").expect("a header");
        for time in times(count) {
            let data = vec![time as u8; 60 + (time % 200) as usize];
            pcap.write(time, &data, 1_500).expect("a frame");
            pcapng.write(LinkType::Ethernet, time, &data, 1_500).expect("a frame");
        }
        let expected = [times(count).next().expect("one"), times(count).next_back().expect("one")];
        let (pcap, pcapng) = (pcap.finish().expect("all"), pcapng.finish().expect("all"));
        write(&pcap);
        assert_eq!(super::capture_span(&name), Some(expected), "{count} in pcap");
        write(&pcapng);
        assert_eq!(super::capture_span(&name), Some(expected), "{count} in pcapng");
        // One that is cut has an unknown end.
        write(&pcapng[..pcapng.len() - 3]);
        assert_eq!(super::capture_span(&name), None);
    }
    write(b"no capture at all");
    assert_eq!(super::capture_span(&name), None);
    write(&[]);
    assert_eq!(super::capture_span(&name), None);
    assert_eq!(super::capture_span("-"), None);
    assert_eq!(super::capture_span("/there/is/none"), None);
    std::fs::remove_file(&path).expect("it is there");
}
