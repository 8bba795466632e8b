//! Decompresses a Zstandard stream of any number of frames (RFC 8878).

use std::io::{self, BufRead, ErrorKind, Read};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// The longest frame header with its magic number.
const MOST_HEADER: usize = 18;
const BLOCK_HEADER: usize = 3;
/// The largest block: steps through a skippable frame are no longer either.
const MOST_BLOCK: usize = 128 << 10;

/// Delivers all blocks before the damage and then the error, however the input is divided. A failing step of
/// the library discards the blocks that it had already written, so that each step gets exactly one block or
/// header.
pub(super) struct ZstdReader<R> {
    input: R,
    /// The begin of a step whose end was not there yet.
    kept: Vec<u8>,
    steps: ZstdFrameDecoder,
}

impl<R: BufRead> ZstdReader<R> {
    /// # Errors
    /// If there is no memory for the decoder.
    pub(super) fn new(input: R) -> io::Result<Self> {
        let steps = ZstdFrameDecoder { decoder: Decoder::new()?, wanted: 0, taken: 0, is_full: false };
        Ok(Self { input, kept: Vec::new(), steps })
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let written = if self.steps.is_full {
                self.steps.run(&[], buffer)?.1
            } else {
                let length = self.steps.length();
                let input = self.input.fill_buf()?;
                if self.kept.is_empty() && input.len() >= length {
                    let (read, written) = self.steps.run(&input[..length], buffer)?;
                    self.input.consume(read);
                    written
                } else {
                    let is_end = input.is_empty();
                    let missing = length.saturating_sub(self.kept.len()).min(input.len());
                    self.kept.extend_from_slice(&input[..missing]);
                    self.input.consume(missing);
                    match (self.kept.len(), self.steps.wanted) {
                        (0, 0) => return Ok(0),
                        (0, _) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "incomplete frame")),
                        (kept, _) if kept < length && !is_end => continue,
                        _ => {}
                    }
                    let (read, written) = self.steps.run(&self.kept, buffer)?;
                    self.kept.drain(..read);
                    written
                }
            };
            if written > 0 {
                return Ok(written);
            }
        }
    }
}

/// The library, and its position in a frame.
struct ZstdFrameDecoder {
    decoder: Decoder<'static>,
    /// Bytes that the library requests next; 0 between frames.
    wanted: usize,
    /// Bytes of this frame that it has consumed.
    taken: usize,
    /// The last step filled the buffer: there may be more output before the next.
    is_full: bool,
}

impl ZstdFrameDecoder {
    /// Bytes of the next step.
    fn length(&self) -> usize {
        if self.taken < MOST_HEADER {
            // The library decodes a whole frame at once if it has one, even in the rest of a header.
            return 1;
        }
        // With a block or the rest of a header it requests the header of the next block.
        let length = if self.wanted > BLOCK_HEADER { self.wanted - BLOCK_HEADER } else { self.wanted };
        length.clamp(1, MOST_BLOCK)
    }

    /// Runs one step; returns how much was read and how much was written.
    fn run(&mut self, input: &[u8], buffer: &mut [u8]) -> io::Result<(usize, usize)> {
        let mut source = InBuffer::around(input);
        let mut target = OutBuffer::around(buffer);
        self.wanted = self.decoder.run(&mut source, &mut target)?;
        let (read, written) = (source.pos(), target.pos());
        self.taken = if self.wanted == 0 { 0 } else { self.taken + read };
        // A frame ends only when all of it was delivered, and a step without bytes would begin another.
        self.is_full = written == target.capacity() && self.wanted > 0;
        Ok((read, written))
    }
}
