//! Decompresses a gzip or zstd stream, identified by its first bytes.

use super::gzip::GzipReader;
use super::zstandard::ZstdReader;
use std::io::{BufReader, Chain, Cursor, Read};

/// The size of the pieces in which the decoders of both compressions read their input, bytes.
const COMPRESSED_BLOCK: usize = if cfg!(fuzzing) { 8 << 10 } else { 256 << 10 };
const MAGIC: usize = 4;

/// The input, including the bytes that were read to recognise it.
type Rewound<R> = Chain<Cursor<Vec<u8>>, R>;

/// A reader of the bytes inside. An error of kind `WouldBlock` from the input is passed on without loss of
/// data.
pub(super) struct Decompressor<R: Read> {
    state: DecompressorState<R>,
}

enum DecompressorState<R: Read> {
    Unknown { input: Option<R>, start: Vec<u8> },
    Plain(Rewound<R>),
    Gzip(GzipReader<BufReader<Rewound<R>>>),
    Zstd(ZstdReader<BufReader<Rewound<R>>>),
}

impl<R: Read> Decompressor<R> {
    pub(super) fn new(input: R) -> Self {
        Self { state: DecompressorState::Unknown { input: Some(input), start: Vec::with_capacity(MAGIC) } }
    }

    /// The name of the compression, once it is known to be compressed.
    pub(super) fn compression(&self) -> Option<&'static str> {
        match self.state {
            DecompressorState::Unknown { .. } | DecompressorState::Plain(_) => None,
            DecompressorState::Gzip(_) => Some("gzip"),
            DecompressorState::Zstd(_) => Some("zstd"),
        }
    }
}

/// Reads until there are enough bytes to identify the compression, or no more.
fn read_magic(input: &mut impl Read, start: &mut Vec<u8>) -> std::io::Result<()> {
    while start.len() < MAGIC {
        let mut byte = [0; MAGIC];
        match input.read(&mut byte[start.len()..])? {
            0 => break,
            read => start.extend_from_slice(&byte[start.len()..][..read]),
        }
    }
    Ok(())
}

fn recognise<R: Read>(start: Vec<u8>, input: R) -> std::io::Result<DecompressorState<R>> {
    let gzip = start.starts_with(&[0x1f, 0x8b]);
    // A zstd file may also begin with one of sixteen kinds of skippable frame.
    let zstd = match start[..] {
        [0x28, 0xb5, 0x2f, 0xfd] => true,
        [kind, 0x2a, 0x4d, 0x18] => kind & 0xf0 == 0x50,
        _ => false,
    };
    let rewound = Cursor::new(start).chain(input);
    Ok(if gzip {
        DecompressorState::Gzip(GzipReader::new(BufReader::with_capacity(COMPRESSED_BLOCK, rewound)))
    } else if zstd {
        DecompressorState::Zstd(ZstdReader::new(BufReader::with_capacity(COMPRESSED_BLOCK, rewound))?)
    } else {
        DecompressorState::Plain(rewound)
    })
}

impl<R: Read> Read for Decompressor<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let DecompressorState::Unknown { input, start } = &mut self.state {
            if let Some(reader) = input {
                read_magic(reader, start)?;
            }
            if let Some(reader) = input.take() {
                self.state = recognise(std::mem::take(start), reader)?;
            }
        }
        match &mut self.state {
            // Only after a decoder could not be set up, which was reported then.
            DecompressorState::Unknown { .. } => Ok(0),
            DecompressorState::Plain(reader) => reader.read(buffer),
            DecompressorState::Gzip(reader) => reader.read(buffer),
            DecompressorState::Zstd(reader) => reader.read(buffer),
        }
    }
}
