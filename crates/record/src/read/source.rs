//! The bytes of a file.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// A source of bytes that can be read more than once.
pub(crate) trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;

/// A file, or bytes in memory.
pub(crate) type Bytes = BufReader<Box<dyn Source>>;

/// Buffers a source.
pub(crate) fn buffered(source: Box<dyn Source>) -> Bytes {
    BufReader::with_capacity(BUFFER, source)
}

/// The number of bytes, the first of which are read next.
pub(crate) fn size(bytes: &mut Bytes) -> io::Result<u64> {
    let size = bytes.seek(SeekFrom::End(0))?;
    bytes.rewind()?;
    Ok(size)
}
