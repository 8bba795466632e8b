//! The bytes of a file.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// A source of bytes that can be read more than once.
pub(crate) trait ByteSource: Read + Seek + Send {}

impl<T: Read + Seek + Send> ByteSource for T {}

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;

/// A file, or bytes in memory.
pub(crate) type ByteReader = BufReader<Box<dyn ByteSource>>;

/// Buffers a source.
pub(crate) fn buffered(source: Box<dyn ByteSource>) -> ByteReader {
    BufReader::with_capacity(BUFFER, source)
}

/// The number of bytes, the first of which are read next.
pub(crate) fn size(bytes: &mut ByteReader) -> io::Result<u64> {
    let size = bytes.seek(SeekFrom::End(0))?;
    bytes.rewind()?;
    Ok(size)
}
