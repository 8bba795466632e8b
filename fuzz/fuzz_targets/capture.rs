//! Any bytes as a capture file: no panic, no hang, bounded frames, the same frames however the bytes arrive.
#![no_main]

use edison_fuzz::check_frame;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use port::{CaptureSource, PacketSource, Poll, SourceError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Read};

/// A few KB of zstd can expand to gigabytes, so the output is limited.
const MOST_FRAMES: usize = 2000;
const MOST_POLLS: usize = 20_000;
/// The least that a frame takes of a file: the header of a simple packet block and its trailing length.
const LEAST_RECORD: usize = 16;
const LONGEST_FRAME: usize = 256 << 10;

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
        if size == 0 && self.turn % 8 != 0 {
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

/// A digest of each frame, and how it ended.
fn read(mut source: CaptureSource) -> (Vec<u64>, End) {
    let mut digests = Vec::new();
    let mut end = End::Stopped;
    for _ in 0..MOST_POLLS {
        if digests.len() >= MOST_FRAMES {
            break;
        }
        match source.rx_burst() {
            Ok(Poll::Burst(burst)) => {
                assert!(!burst.is_empty());
                for frame in burst.frames() {
                    assert!(frame.data.len() <= LONGEST_FRAME && frame.wire_len as usize >= frame.data.len());
                    check_frame(&frame);
                    let mut digest = DefaultHasher::new();
                    (frame.data, frame.wire_len, frame.time_ns, frame.link).hash(&mut digest);
                    digests.push(digest.finish());
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
    (digests, end)
}

fuzz_target!(|input: Input<'_>| {
    let Input { burst, reads, bytes } = input;
    let total = bytes.len() as u64;
    let at_once = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let (frames, end) = read(CaptureSource::from_reader("fuzz", at_once, Some(total), 64));
    let pieces = Box::new(Pieces { bytes: bytes.to_vec(), at: 0, reads, turn: 0 });
    let (by_pieces, pieces_end) = read(CaptureSource::from_reader("fuzz", pieces, None, burst.into()));
    if end == End::Stopped || pieces_end == End::Stopped {
        let both = frames.len().min(by_pieces.len());
        assert_eq!(frames[..both], by_pieces[..both]);
    } else {
        assert_eq!((&frames, end), (&by_pieces, pieces_end));
    }
    let is_compressed = matches!(
        bytes,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    );
    assert!(is_compressed || frames.len() * LEAST_RECORD <= bytes.len(), "frames out of nothing");
});
