//! The frames of a compressed capture, and how it ends, do not depend on how its bytes are divided into
//! reads.

use super::*;
use crate::capture::gzip::GzipReader;
use crate::capture::zstandard::ZstdReader;
use std::io::Cursor;

/// Gives the bytes before each of `ends` by one or more separate reads, then the rest.
struct Pieces {
    bytes: Cursor<Vec<u8>>,
    ends: Vec<usize>,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let at = self.bytes.position() as usize;
        let end = self.ends.iter().find(|end| **end > at).copied().unwrap_or(usize::MAX);
        let length = buffer.len().min(end - at);
        self.bytes.read(&mut buffer[..length])
    }
}

fn in_pieces(bytes: &[u8], ends: Vec<usize>) -> (Vec<Seen>, Option<SourceError>) {
    let pieces = Pieces { bytes: Cursor::new(bytes.to_vec()), ends };
    drain(&mut CaptureSource::from_reader("test.pcap", Box::new(pieces), None, 3))
}

/// How the capture reads at once, if byte by byte and cut in two at each of `cuts` are the same.
fn same_for(bytes: &[u8], cuts: impl Iterator<Item = usize>) -> (Vec<Seen>, Option<SourceError>) {
    let at_once = drain(&mut source(bytes.to_vec()));
    assert_eq!(in_pieces(bytes, (0..bytes.len()).collect()), at_once, "byte by byte");
    for cut in cuts {
        assert_eq!(in_pieces(bytes, vec![cut]), at_once, "cut at {cut}");
    }
    at_once
}

/// A gzip stream with these bytes in a stored block, and then a block of the type that there is not.
fn gzip_then_damage(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let stored = [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), bytes].concat();
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff][..], &stored, &[7, 0, 0]].concat()
}

/// The same in zstd: a frame of unknown length, a raw block.
fn zstd_then_damage(bytes: &[u8]) -> Vec<u8> {
    let header = (bytes.len() as u32) << 3;
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0][..], &header.to_le_bytes()[..3], bytes, &[7, 0, 0]].concat()
}

#[test]
fn all_before_the_damage_comes_out() {
    let file = some_pcap(LITTLE, 0xa1b2_3c4d, &[]);
    for (name, wrap) in [("gzip", gzip_then_damage as fn(&[u8]) -> Vec<u8>), ("zstd", zstd_then_damage)] {
        let damaged = wrap(&file);
        let (frames, error) = same_for(&damaged, 1..damaged.len());
        assert_eq!(frames, some_frames(1));
        let text = error.unwrap().to_string();
        let place = format!("(at byte {} after {name} is taken off)", file.len());
        assert!(text.contains(&format!("the {name} data are damaged")) && text.ends_with(&place), "{text}");

        let foreign = wrap(b"# Edison");
        let (frames, error) = same_for(&foreign, 1..foreign.len());
        let text = error.unwrap().to_string();
        assert!(
            frames.is_empty() && text.contains("not a capture file: it starts with 23 20 45 64"),
            "{text}"
        );
    }
}

#[test]
fn damage_anywhere_reads_the_same_for_every_cut() {
    let file = some_pcap(LITTLE, 0xa1b2_3c4d, &[]);
    let (front, back) = file.split_at(77);
    // Several blocks, two members or frames, lengths and check sums where the format has them.
    let mut blocks = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for block in front.chunks(30) {
        blocks.write_all(block).unwrap();
        blocks.flush().unwrap();
    }
    let gzip = [blocks.finish().unwrap(), gzip(back)].concat();
    let mut checked = zstd::Encoder::new(Vec::new(), 3).unwrap();
    checked.include_checksum(true).unwrap();
    checked.set_pledged_src_size(Some(front.len() as u64)).unwrap();
    for block in front.chunks(30) {
        checked.write_all(block).unwrap();
        checked.flush().unwrap();
    }
    let skippable = [0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let whole = zstd::bulk::compress(back, 3).unwrap();
    let zstd = [&checked.finish().unwrap()[..], &skippable, &whole].concat();
    for compressed in [gzip, zstd] {
        assert_eq!(same_for(&compressed, 1..compressed.len()), (some_frames(1), None));
        for at in 4..compressed.len() {
            for flip in [0x01, 0x06, 0xff] {
                let mut damaged = compressed.clone();
                damaged[at] ^= flip;
                same_for(&damaged, (at % 13..damaged.len()).step_by(13));
            }
        }
    }
}

#[test]
fn damage_ends_nothing_where_the_buffer_is_small() {
    fn read_by(mut reader: impl Read, size: usize) -> Vec<u8> {
        let (mut bytes, mut buffer) = (Vec::new(), vec![0; size]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => panic!("the damage is not told"),
                Ok(read) => bytes.extend_from_slice(&buffer[..read]),
                Err(_) => return bytes,
            }
        }
    }
    let bytes: Vec<u8> = (0..200).collect();
    for size in 1..=201 {
        assert_eq!(read_by(GzipReader::new(&gzip_then_damage(&bytes)[..]), size), bytes);
        assert_eq!(read_by(ZstdReader::new(&zstd_then_damage(&bytes)[..]).unwrap(), size), bytes);
        // Without damage it ends, also where the last byte fills the buffer.
        let (mut all, twice) = (vec![0; size], [&bytes[..], &bytes].concat());
        let zstd = zstd::encode_all(&bytes[..], 3).unwrap().repeat(2);
        let mut readers: [Box<dyn Read>; 2] = [
            Box::new(GzipReader::new(Cursor::new(gzip(&bytes).repeat(2)))),
            Box::new(ZstdReader::new(Cursor::new(zstd)).unwrap()),
        ];
        for reader in &mut readers {
            let mut got = Vec::new();
            loop {
                match reader.read(&mut all).unwrap() {
                    0 => break,
                    read => got.extend_from_slice(&all[..read]),
                }
            }
            assert!(got == twice, "by {size}");
        }
    }
}
