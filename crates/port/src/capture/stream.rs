//! The block of the capture that lies in memory.

use super::compression::Decompressor;
use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of the buffer: any record must fit, behind what a read left of the one before.
pub(super) const BLOCK: usize = if cfg!(fuzzing) { 64 << 10 } else { 1 << 20 };

/// Bytes of one read. As long as records are small it goes to the same place each time, which is half of a usual
/// second-level cache: what the kernel copied is then still near when it is parsed.
const READ: usize = if cfg!(fuzzing) { 8 << 10 } else { 256 << 10 };

/// Counts the bytes of the file itself, below any decompression.
struct CountingReader {
    input: Box<dyn Read + Send>,
    done: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The result of [`CaptureStream::fill`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Filled {
    More,
    /// The input has no bytes to read yet.
    Idle,
    End,
}

/// Bytes of the capture, uncompressed, in one buffer; its contents remain until the next `fill`.
pub(super) struct CaptureStream {
    input: Decompressor<CountingReader>,
    done: Arc<AtomicU64>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Place of `buffer[start]` in the uncompressed capture.
    offset: u64,
    /// Bytes to drop as they arrive: the rest of a block that is skipped.
    owed: u64,
}

impl CaptureStream {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        let done = Arc::new(AtomicU64::new(0));
        Self {
            input: Decompressor::new(CountingReader { input, done: Arc::clone(&done) }),
            done,
            buffer: vec![0; BLOCK].into_boxed_slice(),
            start: 0,
            end: 0,
            offset: 0,
            owed: 0,
        }
    }

    /// The bytes in memory that are not consumed.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Place of the first unread byte in the uncompressed capture.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes that were consumed before they were read.
    pub(super) fn owed(&self) -> u64 {
        self.owed
    }

    /// Bytes read from the file itself.
    pub(super) fn file_bytes(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The name of the compression, if any.
    pub(super) fn compression(&self) -> Option<&'static str> {
        self.input.compression()
    }

    /// Steps over `count` bytes, also beyond those in memory.
    pub(super) fn consume(&mut self, count: u64) {
        let here = count.min((self.end - self.start) as u64);
        self.start += here as usize;
        self.offset += here;
        self.owed += count - here;
    }

    /// Reads once after the unread bytes, which move to the front unless they are many and there is room.
    pub(super) fn fill(&mut self) -> std::io::Result<Filled> {
        if self.end - self.start <= READ / 4 || self.buffer.len() - self.end < READ {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        debug_assert!(self.end < self.buffer.len(), "no record may be as large as the block");
        let room = self.buffer.len().min(self.end + READ);
        match self.input.read(&mut self.buffer[self.end..room]) {
            Ok(0) => Ok(Filled::End),
            Ok(read) => {
                self.end += read;
                let owed = std::mem::take(&mut self.owed);
                self.consume(owed);
                Ok(Filled::More)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(Filled::Idle)
            }
            Err(error) => Err(error),
        }
    }
}
