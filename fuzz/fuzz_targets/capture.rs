//! Any bytes as a capture file: no panic, no hang, bounded frames, the same frames however the bytes arrive.
#![no_main]

use edison_fuzz::check_frame;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use packet::{Frame, LinkType};
use port::{CaptureSource, PacketSource, Poll, SourceError};
use std::io::{ErrorKind, Read};

/// A few KB of zstd can expand to gigabytes, so the output is limited.
const MOST_FRAMES: usize = 2000;
const MOST_POLLS: usize = 20_000;
/// The least that a frame takes of a file: the header of a simple packet block and its trailing length.
const LEAST_RECORD: usize = 16;
/// The limit of a capture's records under a fuzzer.
const LONGEST_FRAME: usize = 16 << 10;

/// In the order of the bytes, which `scripts/fuzz` writes too.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    burst: u8,
    /// Bytes of each read; 0: nothing has arrived yet.
    reads: [u8; 4],
    bytes: &'a [u8],
}

/// A pipe whose writer writes in pieces.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    reads: [u8; 4],
    turn: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = usize::from(self.reads[self.turn % self.reads.len()]);
        self.turn += 1;
        if size == 0 && !self.turn.is_multiple_of(8) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let size = size.max(1).min(buffer.len()).min(self.bytes.len() - self.at);
        buffer[..size].copy_from_slice(&self.bytes[self.at..self.at + size]);
        self.at += size;
        Ok(size)
    }
}

#[derive(Debug, PartialEq)]
enum End {
    Ended,
    Error(SourceError),
    /// By the bounds above.
    Stopped,
}

/// All that the source says of its frames.
#[derive(Debug, Default, PartialEq)]
struct Frames {
    /// Captured bytes, length on the wire, time, link type.
    described: Vec<(usize, u32, u64, LinkType)>,
    bytes: Vec<u8>,
}

/// The frames, each handed to `check`, and how the source ended.
fn read(mut source: CaptureSource, check: fn(&Frame<'_>)) -> (Frames, End) {
    let mut frames = Frames::default();
    let mut end = End::Stopped;
    for _ in 0..MOST_POLLS {
        if frames.described.len() >= MOST_FRAMES {
            break;
        }
        match source.rx_burst() {
            Ok(Poll::Burst(burst)) => {
                assert!(!burst.is_empty());
                for frame in burst.frames() {
                    assert!(frame.data.len() <= LONGEST_FRAME && frame.wire_len as usize >= frame.data.len());
                    check(&frame);
                    frames.described.push((frame.data.len(), frame.wire_len, frame.time_ns, frame.link));
                    frames.bytes.extend_from_slice(frame.data);
                }
            }
            Ok(Poll::Idle) => {}
            Ok(Poll::Ended) => {
                end = End::Ended;
                break;
            }
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                end = End::Error(error);
                break;
            }
        }
    }
    assert!(source.warnings().iter().all(|line| !line.contains('\n')));
    source.lost();
    (frames, end)
}

fuzz_target!(|input: Input<'_>| {
    let Input { burst, reads, bytes } = input;
    let total = bytes.len() as u64;
    let at_once = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let (frames, end) = read(CaptureSource::from_reader("fuzz", at_once, Some(total), 64), check_frame);
    let pieces = Box::new(Pieces { bytes: bytes.to_vec(), at: 0, reads, turn: 0 });
    // The same frames: they are checked once.
    let (by_pieces, pieces_end) =
        read(CaptureSource::from_reader("fuzz", pieces, None, burst.into()), |_| ());
    if end == End::Stopped || pieces_end == End::Stopped {
        let both = frames.described.len().min(by_pieces.described.len());
        assert_eq!(frames.described[..both], by_pieces.described[..both]);
        let both = frames.bytes.len().min(by_pieces.bytes.len());
        assert_eq!(frames.bytes[..both], by_pieces.bytes[..both]);
    } else {
        assert_eq!((&frames, end), (&by_pieces, pieces_end));
    }
    let is_compressed = matches!(
        bytes,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    );
    assert!(is_compressed || frames.described.len() * LEAST_RECORD <= bytes.len(), "frames out of nothing");
});
