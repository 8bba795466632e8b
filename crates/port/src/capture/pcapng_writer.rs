//! Writing pcapng files (draft-ietf-opsawg-pcapng): one section, an interface for each link type, times in nanoseconds.

use packet::LinkType;
use std::io::{self, BufWriter, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// The magic number from which a reader derives the byte order.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
/// The resolution of time stamps, as a negative power of ten.
const NANOSECONDS: u8 = 9;

/// The size of the headers and trailers around a packet in the file, in bytes.
const AROUND_PACKET: u64 = 32;

/// Writes a pcapng file. Only [`PcapngWriter::finish`] confirms that all of it was written.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    output: BufWriter<W>,
    /// The name of the interfaces.
    interface: String,
    links: Vec<LinkType>,
    block: Vec<u8>,
    bytes: u64,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the header of the section. `interface`: the name of the point where packets were captured.
    ///
    /// # Errors
    /// If `output` cannot be written.
    pub fn new(output: W, application: &str, comment: &str, interface: &str) -> io::Result<Self> {
        let mut writer = Self {
            output: BufWriter::new(output),
            interface: interface.to_owned(),
            links: Vec::new(),
            block: Vec::new(),
            bytes: 0,
        };
        writer.put(&BYTE_ORDER.to_ne_bytes());
        writer.put(&1u16.to_ne_bytes());
        writer.put(&0u16.to_ne_bytes());
        // The length of the section is not known.
        writer.put(&u64::MAX.to_ne_bytes());
        writer.option(COMMENT, comment.as_bytes());
        writer.option(APPLICATION, application.as_bytes());
        writer.end_options();
        writer.end_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Returns the number of bytes that a packet of `captured` captured bytes takes in the file.
    pub fn packet_bytes(captured: usize) -> u64 {
        AROUND_PACKET + captured.next_multiple_of(4) as u64
    }

    /// Returns the number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a frame of `wire_len` bytes, of which `data` was captured.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(&mut self, link: LinkType, time_ns: u64, data: &[u8], wire_len: u32) -> io::Result<()> {
        let known = self.links.iter().position(|known| *known == link);
        let interface = known.map_or_else(|| self.begin_interface(link), Ok)? as u32;
        let captured = data.len() as u32;
        let [high, low] = [(time_ns >> 32) as u32, time_ns as u32];
        for field in [interface, high, low, captured, wire_len.max(captured)] {
            self.put(&field.to_ne_bytes());
        }
        self.put(data);
        self.end_block(ENHANCED_PACKET)
    }

    /// Writes what is still buffered and returns the output.
    ///
    /// # Errors
    /// If the output cannot be written; the file is not complete then.
    pub fn finish(self) -> io::Result<W> {
        self.output.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn begin_interface(&mut self, link: LinkType) -> io::Result<usize> {
        // Files have this number for raw IP. Old ones have the number that libpcap uses internally.
        const RAW: u16 = 101;
        let number = if link == LinkType::Raw { RAW } else { link.number().unwrap_or(u16::MAX) };
        self.put(&number.to_ne_bytes());
        self.put(&0u16.to_ne_bytes());
        // The snap length 0 means that frames may have any length.
        self.put(&0u32.to_ne_bytes());
        let name = std::mem::take(&mut self.interface);
        self.option(INTERFACE_NAME, name.as_bytes());
        self.interface = name;
        self.option(TIME_RESOLUTION, &[NANOSECONDS]);
        self.end_options();
        self.end_block(INTERFACE)?;
        self.links.push(link);
        Ok(self.links.len() - 1)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// Pads the block to a multiple of 32 bits, as blocks and options require.
    fn fill_up(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Adds an option. A value that is too long is cut at the boundary of a UTF-8 character.
    fn option(&mut self, code: u16, value: &[u8]) {
        let mut length = value.len().min(usize::from(u16::MAX));
        while value.get(length).is_some_and(|byte| byte & 0xc0 == 0x80) {
            length -= 1;
        }
        self.block.extend_from_slice(&code.to_ne_bytes());
        self.block.extend_from_slice(&(length as u16).to_ne_bytes());
        self.block.extend_from_slice(&value[..length]);
        self.fill_up();
    }

    fn end_options(&mut self) {
        self.block.extend_from_slice(&[0; 4]);
    }

    /// Writes the block. Its length is in both its header and its trailer.
    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        self.fill_up();
        let length = self.block.len() as u32 + 12;
        self.output.write_all(&kind.to_ne_bytes())?;
        self.output.write_all(&length.to_ne_bytes())?;
        self.output.write_all(&self.block)?;
        self.output.write_all(&length.to_ne_bytes())?;
        self.bytes += u64::from(length);
        self.block.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CaptureSource, PacketSource, Poll};

    #[test]
    fn what_was_written_is_read() {
        let frames: Vec<(LinkType, u64, Vec<u8>, u32)> = vec![
            (LinkType::Ethernet, 1_700_000_000_123_456_789, (0..61).collect(), 61),
            (LinkType::Raw, 5, vec![0x45; 3], 1500),
            (LinkType::Ethernet, i64::MAX as u64, vec![], 9),
            (LinkType::RawIpv6, 1_700_000_000_000_000_001, vec![0x60; 64], 64),
        ];
        let path = std::env::temp_dir().join(format!("edison-{}.pcapng", std::process::id()));
        let comment = "é".repeat(50_000);
        let file = std::fs::File::create(&path).expect("a file");
        let mut writer = PcapngWriter::new(file, "edison", &comment, "Node1").expect("it is written");
        for (link, time_ns, data, wire_len) in &frames {
            let before = writer.bytes();
            let is_new = !writer.links.contains(link);
            writer.write(*link, *time_ns, data, *wire_len).expect("it is written");
            let bytes = PcapngWriter::<std::fs::File>::packet_bytes(data.len());
            assert!(is_new || writer.bytes() - before == bytes);
        }
        let bytes = writer.bytes();
        writer.finish().expect("it is written");
        assert_eq!(std::fs::metadata(&path).expect("a file").len(), bytes);
        let mut source = CaptureSource::open(&path.display().to_string(), 16).expect("a capture");
        let mut read = Vec::new();
        while let Poll::Burst(burst) = source.rx_burst().expect("it is whole") {
            read.extend(
                burst.frames().map(|frame| (frame.link, frame.time_ns, frame.data.to_vec(), frame.wire_len)),
            );
        }
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(read, frames);
    }
}
