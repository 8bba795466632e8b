//! The bytes of a file.

use std::io::{BufReader, Read, Seek};

/// What can be read more than once.
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
