//! A Parquet file whose bytes are checked as they are read.

use crate::sums::{BLOCK, FileChecksums};
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes that can be read at any place.
pub(crate) trait PositionedReader: Send + Sync {
    fn length(&self) -> io::Result<u64>;
    /// Fills a buffer with the bytes from a place on.
    fn read_at(&self, start: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl PositionedReader for File {
    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }

    fn read_at(&self, start: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(buffer, start)
    }
}

impl PositionedReader for Bytes {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, start: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(start).ok();
        let part = start.and_then(|start| self.get(start..start.checked_add(buffer.len())?));
        buffer.copy_from_slice(part.ok_or_else(ended)?);
        Ok(())
    }
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before")
}

/// Bytes of a file that are checked at once: whole blocks.
const CHECKED_AT_ONCE: u64 = 64 * BLOCK;

/// A file, and its checksums if it has any: what is read of it is checked.
#[derive(Clone)]
pub(crate) struct SummedFile {
    places: Arc<dyn PositionedReader>,
    length: u64,
    sums: Option<Arc<FileChecksums>>,
}

impl SummedFile {
    /// Reads the checksums, and checks the footer.
    ///
    /// # Errors
    /// The file cannot be read, or its footer or its checksums are damaged.
    pub(crate) fn new(places: impl PositionedReader + 'static) -> Result<Self, String> {
        let length = places.length().map_err(|error| error.to_string())?;
        let sums = FileChecksums::read(length, &|start, bytes| {
            let mut buffer = vec![0; bytes];
            places.read_at(start, &mut buffer).map_err(|error| error.to_string())?;
            Ok(buffer)
        })?;
        Ok(Self { places: Arc::new(places), length, sums: sums.map(Arc::new) })
    }

    /// Returns true if the file has checksums.
    pub(crate) fn has_sums(&self) -> bool {
        self.sums.is_some()
    }

    /// Checks all bytes that have checksums.
    ///
    /// # Errors
    /// Returns which bytes are damaged, or that they cannot be read.
    pub(crate) fn check(&self) -> io::Result<()> {
        let bytes = self.sums.as_deref().map_or(0, |sums| sums.bytes_from(0));
        let mut place = 0;
        while place < bytes {
            let length = CHECKED_AT_ONCE.min(bytes - place);
            self.read(place, length as usize)?;
            place += length;
        }
        Ok(())
    }

    /// Reads the bytes of a range, with checksums those of the blocks around it. Returns the bytes and the place of the first.
    fn read(&self, start: u64, length: usize) -> io::Result<(u64, Vec<u8>)> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ended());
        }
        let sums = self.sums.as_deref().filter(|sums| sums.has(start, length));
        let (from, all) = sums.map_or((start, length), |sums| sums.around(start, length));
        let mut buffer = vec![0; all];
        self.places.read_at(from, &mut buffer)?;
        if let Some(sums) = sums {
            sums.check(from, &buffer).map_err(io::Error::other)?;
        }
        Ok((from, buffer))
    }
}

impl Length for SummedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for SummedFile {
    type T = SummedReader;

    fn get_read(&self, start: u64) -> Result<SummedReader, ParquetError> {
        Ok(SummedReader { file: self.clone(), place: start, buffer: Vec::new(), at: 0 })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let (from, buffer) = self.read(start, length)?;
        let skipped = (start - from) as usize;
        Ok(Bytes::from(buffer).slice(skipped..skipped + length))
    }
}

/// Reads on from a place.
pub(crate) struct SummedReader {
    file: SummedFile,
    /// The place of the next bytes that are not in the buffer.
    place: u64,
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that were given.
    at: usize,
}

/// Bytes that are read at a time.
const AHEAD: usize = 8 << 10;

impl Read for SummedReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() && !out.is_empty() {
            let left = self.file.length.saturating_sub(self.place);
            let mut wanted = out.len().max(AHEAD) as u64;
            if let Some(sums) = self.file.sums.as_deref().filter(|sums| sums.has(self.place, 1)) {
                // What stands behind the blocks has no checksums.
                wanted = wanted.min(sums.bytes_from(self.place));
            }
            let wanted = wanted.min(left) as usize;
            let (from, buffer) = self.file.read(self.place, wanted)?;
            self.at = (self.place - from) as usize;
            self.place = from + buffer.len() as u64;
            self.buffer = buffer;
        }
        let given = out.len().min(self.buffer.len() - self.at);
        out[..given].copy_from_slice(&self.buffer[self.at..self.at + given]);
        self.at += given;
        Ok(given)
    }
}
