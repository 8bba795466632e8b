//! Decompresses a gzip stream of any number of members (RFC 1952).

use flate2::{Decompress, FlushDecompress, Status};
use std::io::{self, BufRead, ErrorKind, Read};

/// Base-2 logarithm of the largest window that deflate allows.
const WINDOW_BITS: u8 = 15;

/// Delivers all data before the damage and then the error, however the input is divided. `flate2`'s own
/// readers discard what the failing step had already written, which depends on the size of the input's reads.
pub(super) struct GzipReader<R> {
    input: R,
    inflate: Decompress,
    /// True if the last member is complete; what follows begins another.
    between: bool,
    /// The error that is reported after the earlier bytes.
    failed: Option<io::Error>,
}

impl<R: BufRead> GzipReader<R> {
    /// `input` must hold at least one member.
    pub(super) fn new(input: R) -> Self {
        Self { input, inflate: Decompress::new_gzip(WINDOW_BITS), between: false, failed: None }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let input = self.input.fill_buf()?;
            let is_end = input.is_empty();
            if self.between {
                if is_end {
                    return Ok(0);
                }
                self.inflate.reset(true);
                self.between = false;
            }
            let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
            let result = self.inflate.decompress(input, buffer, FlushDecompress::None);
            self.input.consume((self.inflate.total_in() - taken) as usize);
            let written = (self.inflate.total_out() - given) as usize;
            match result {
                Ok(Status::StreamEnd) => self.between = true,
                Ok(Status::Ok | Status::BufError) if is_end && written == 0 => {
                    self.failed = Some(io::Error::new(ErrorKind::UnexpectedEof, "incomplete gzip member"));
                }
                Ok(Status::Ok | Status::BufError) => {}
                // Not zlib's messages: its fast and its careful path have different ones for the same damage.
                Err(_) => {
                    let reason = "an impossible header or code, or a wrong check sum";
                    self.failed = Some(io::Error::new(ErrorKind::InvalidData, reason));
                }
            }
            if written > 0 {
                return Ok(written);
            }
        }
    }
}
