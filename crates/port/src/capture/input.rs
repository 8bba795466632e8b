//! Opening what holds a capture: a file, a pipe, standard input.

use crate::{SourceError, SourceSetting};
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::os::fd::{AsFd, AsRawFd};

/// The name of standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// The time that a pipe is waited for before the caller gets control back without data, milliseconds.
const PIPE_WAIT_MS: libc::c_int = 5;

/// A pipe, FIFO or device, whose reader must not block until its writer writes.
struct Pipe(File);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ready = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `ready` is one valid pollfd, and the descriptor is open for as long as `self.0` lives.
        match unsafe { libc::poll(&mut ready, 1, PIPE_WAIT_MS) } {
            0 => Err(ErrorKind::WouldBlock.into()),
            1.. => self.0.read(buffer),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The bytes of `path`, and their number if known.
pub(super) fn open(path: &str) -> Result<(Box<dyn Read + Send>, Option<u64>), SourceError> {
    let cannot = |error: io::Error| {
        let advice = match error.kind() {
            ErrorKind::NotFound => "check the name",
            ErrorKind::PermissionDenied => "its owner must allow reading",
            _ => "check the name and the disk",
        };
        let text = format!("cannot open the capture file '{path}': {error}: {advice}");
        match error.kind() {
            ErrorKind::NotFound => SourceError::Refused(SourceSetting::CaptureName, text),
            _ => SourceError::Open(text),
        }
    };
    let file = if path == STANDARD_INPUT {
        if io::stdin().is_terminal() {
            let text = "standard input is a terminal: pipe a capture into it";
            return Err(SourceError::Refused(SourceSetting::StandardInput, text.into()));
        }
        File::from(io::stdin().as_fd().try_clone_to_owned().map_err(cannot)?)
    } else {
        File::open(path).map_err(cannot)?
    };
    let metadata = file.metadata().map_err(cannot)?;
    if metadata.is_dir() {
        let text = format!("'{path}' is a directory: name the capture files in it, as in {path}/*.pcap");
        return Err(SourceError::Open(text));
    }
    Ok(if metadata.is_file() { (Box::new(file), Some(metadata.len())) } else { (Box::new(Pipe(file)), None) })
}
