//! Writing pcap files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Magic number of pcap with nanoseconds, in this machine's byte order.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const BUFFER: usize = 256 << 10;

/// Writes a pcap file with nanosecond times. Only [`CaptureWriter::finish`] confirms that all of it was
/// written.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    output: BufWriter<W>,
    snaplen: u32,
}

impl CaptureWriter<File> {
    /// Creates or overwrites `path`.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub fn create(path: impl AsRef<Path>, link_type: u16, snaplen: u32) -> io::Result<Self> {
        Self::new(File::create(path)?, link_type, snaplen)
    }
}

impl<W: Write> CaptureWriter<W> {
    /// Writes the file header: frames of the link type of this number (LINKTYPE_…), cut to `snaplen` bytes.
    ///
    /// # Errors
    /// If `output` cannot be written.
    pub fn new(output: W, link_type: u16, snaplen: u32) -> io::Result<Self> {
        let mut output = BufWriter::with_capacity(BUFFER, output);
        output.write_all(&MAGIC_NANOSECONDS.to_ne_bytes())?;
        output.write_all(&2u16.to_ne_bytes())?;
        output.write_all(&4u16.to_ne_bytes())?;
        // Time zone and accuracy are zero in every file.
        output.write_all(&[0; 8])?;
        output.write_all(&snaplen.to_ne_bytes())?;
        output.write_all(&u32::from(link_type).to_ne_bytes())?;
        Ok(Self { output, snaplen })
    }

    /// Appends a frame of `wire_len` bytes, of which `data` is known. A time past the year 2106 becomes the last
    /// that the format can hold.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, time_ns: u64, data: &[u8], wire_len: u32) -> io::Result<()> {
        let data = &data[..data.len().min(self.snaplen as usize)];
        let seconds = u32::try_from(time_ns / 1_000_000_000).unwrap_or(u32::MAX);
        let captured = data.len() as u32;
        let fields = [seconds, (time_ns % 1_000_000_000) as u32, captured, wire_len.max(captured)];
        let mut header = [0; 16];
        for (place, field) in header.chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_ne_bytes());
        }
        self.output.write_all(&header)?;
        self.output.write_all(data)
    }

    /// Writes what is still buffered and returns the output.
    ///
    /// # Errors
    /// If the output cannot be written; the file is not complete then.
    pub fn finish(self) -> io::Result<W> {
        self.output.into_inner().map_err(io::IntoInnerError::into_error)
    }
}
