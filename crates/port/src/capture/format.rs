//! The format of a capture.

use super::pass::{PassEnd, Warnings, foreign};
use super::pcap::{PcapReader, RECOGNISED_LEN};
use super::pcapng::{self, PcapngReader};

/// The format of a capture, with its reader's state.
pub(super) enum CaptureFormat {
    Unknown,
    Pcap(PcapReader),
    Pcapng(PcapngReader),
}

impl CaptureFormat {
    /// Recognises the format by the first bytes: the reader and the bytes to step over, or the number of
    /// bytes that are needed to decide.
    pub(super) fn recognise(
        bytes: &[u8],
        name: &str,
        warnings: &mut Warnings,
    ) -> Result<Result<(Self, u64), usize>, PassEnd> {
        let Some(magic) = bytes.first_chunk::<4>() else {
            return Ok(Err(4));
        };
        if *magic == pcapng::SECTION_HEADER.to_ne_bytes() {
            return Ok(Ok((Self::Pcapng(PcapngReader::new()), 0)));
        }
        if !PcapReader::is_magic(*magic) {
            return Err(PassEnd::Foreign(foreign(bytes)));
        }
        let Some(header) = bytes.first_chunk::<RECOGNISED_LEN>() else {
            return Ok(Err(RECOGNISED_LEN));
        };
        let (reader, length) =
            PcapReader::new(header, |number| warnings.link_type(name, number)).map_err(PassEnd::Damaged)?;
        Ok(Ok((Self::Pcap(reader), length)))
    }
}
