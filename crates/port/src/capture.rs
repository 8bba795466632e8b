//! Capture files: pcap and pcapng, plain or compressed, from a file or a pipe.
//!
//! The file is read in large blocks; frames are described where they lie in the block, so nothing is copied
//! after the read. A block is released only by the call after the one that described its last frame.

mod byte_order;
mod clock;
mod compression;
mod format;
mod gzip;
mod input;
mod pass;
mod pcap;
mod pcapng;
mod pcapng_writer;
mod span;
mod stream;
mod writer;
mod zstandard;

pub(crate) use input::STANDARD_INPUT;
pub use pcapng_writer::PcapngWriter;
pub use span::capture_span;
pub use writer::CaptureWriter;

use crate::{
    Burst, FrameDescriptor, PacketSource, Poll, SourceCounter, SourceError, SourceProgress, TimeBase,
};
use format::CaptureFormat;
use pass::{PassEnd, PassResult, Warnings};
use std::io::Read;
use stream::{CaptureStream, Filled};

/// Reads of one `rx_burst` before it returns without a frame: a run of blocks without packets can be long.
const READS_PER_BURST: u32 = 4;

/// The frames of a capture file.
pub struct CaptureSource {
    name: String,
    stream: CaptureStream,
    total: Option<u64>,
    format: CaptureFormat,
    warnings: Warnings,
    slots: Box<[FrameDescriptor]>,
    state: CaptureReadState,
    /// The counters that [`PacketSource::lost`] returned last.
    lost: Option<Vec<SourceCounter>>,
}

/// Counters that have grown to the sum of what is counted now. Two count the same frames, and which of them is right may change: what was
/// told by one is not told again by the other.
fn grown(told: &[SourceCounter], now: &[SourceCounter]) -> Vec<SourceCounter> {
    let sum =
        |counters: &[SourceCounter]| counters.iter().fold(0_u64, |sum, (_, more)| sum.saturating_add(*more));
    let mut rest = sum(now).saturating_sub(sum(told));
    let of = |name: &str| told.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
    let mut grown: Vec<SourceCounter> = Vec::new();
    for (name, count) in now {
        let more = count.saturating_sub(of(name)).min(rest);
        rest -= more;
        grown.push((name, of(name) + more));
    }
    let is_gone = |(name, _): &&SourceCounter| now.iter().all(|(known, _)| known != name);
    grown.extend(told.iter().filter(is_gone));
    grown
}

enum CaptureReadState {
    Reading,
    /// The error that is reported after the earlier frames.
    Failed(SourceError),
    Ended,
}

// SAFETY: the pointers in `slots` point into `stream`'s own buffer, which moves with the source; only the
// borrower of the burst dereferences them, and while that borrow exists the source cannot be moved to another
// thread.
unsafe impl Send for CaptureSource {}

impl CaptureSource {
    /// Opens a capture file, or standard input for `-`; at most `burst` frames come at once. Whether it is a
    /// capture shows with the first `rx_burst`, which returns [`SourceError::Open`] where it is none.
    ///
    /// # Errors
    /// Returns [`SourceError::Open`] if the file does not exist or cannot be read.
    pub fn open(path: &str, burst: usize) -> Result<Self, SourceError> {
        let (input, total) = input::open(path)?;
        Ok(Self::from_reader(path, input, total, burst))
    }

    /// Reads a capture from any bytes, `total` of them if that is known. `input` may answer
    /// [`WouldBlock`](std::io::ErrorKind::WouldBlock): the source is idle then.
    pub fn from_reader(
        name: impl Into<String>,
        input: Box<dyn Read + Send>,
        total: Option<u64>,
        burst: usize,
    ) -> Self {
        Self {
            name: name.into(),
            stream: CaptureStream::new(input),
            total,
            format: CaptureFormat::Unknown,
            warnings: Warnings::default(),
            slots: vec![FrameDescriptor::EMPTY; burst.max(1)].into_boxed_slice(),
            state: CaptureReadState::Reading,
            lost: None,
        }
    }

    /// Describes the next frames that are in memory and steps over them.
    fn parse(&mut self) -> PassResult {
        let label = label(&self.name);
        if matches!(self.format, CaptureFormat::Unknown) {
            let stop = match CaptureFormat::recognise(self.stream.unread(), label, &mut self.warnings) {
                Ok(Ok((format, header))) => {
                    self.format = format;
                    self.stream.consume(header);
                    None
                }
                Ok(Err(needed)) => Some(PassEnd::Short(needed)),
                Err(stop) => Some(stop),
            };
            if let Some(stop) = stop {
                return PassResult { frames: 0, consumed: 0, stop };
            }
        }
        let bytes = self.stream.unread();
        let parsed = match &mut self.format {
            CaptureFormat::Pcap(reader) => reader.parse(bytes, &mut self.slots),
            CaptureFormat::Pcapng(reader) => reader.parse(bytes, &mut self.slots, label, &mut self.warnings),
            CaptureFormat::Unknown => PassResult { frames: 0, consumed: 0, stop: PassEnd::Short(1) },
        };
        self.stream.consume(parsed.consumed);
        parsed
    }

    /// The bytes are of no capture.
    fn foreign(&self, reason: &str) -> SourceError {
        SourceError::Open(self.placed(reason))
    }

    fn damaged(&self, reason: &str) -> SourceError {
        SourceError::Damaged(self.placed(reason))
    }

    /// The reason, with the file and the place in it.
    fn placed(&self, reason: &str) -> String {
        let place = match self.stream.compression() {
            None => String::new(),
            Some(compression) => format!(" after {compression} is taken off"),
        };
        format!("{}: {reason} (at byte {}{place})", label(&self.name), self.stream.offset())
    }

    /// Checks whether the input may end where the next record would need `needed` bytes.
    fn at_end(&self, needed: usize) -> Result<(), SourceError> {
        let rest = self.stream.unread();
        if matches!(self.format, CaptureFormat::Unknown) {
            return Err(match rest.len() {
                0 => self.damaged("not a capture file: it is empty"),
                1..4 => self.foreign(&pass::foreign(rest)),
                have => self
                    .damaged(&format!("the capture is cut short: its header has {have} bytes of {needed}")),
            });
        }
        match (rest.len(), self.stream.owed()) {
            (0, 0) => Ok(()),
            (0, owed) => {
                Err(self.damaged(&format!("the capture is cut short: its last block lacks {owed} bytes")))
            }
            (have, _) => Err(self.damaged(&format!(
                "the capture is cut short: its last record has {have} bytes of at least {needed}"
            ))),
        }
    }

    fn read_failure(&self, error: &std::io::Error) -> SourceError {
        // Errors of the operating system have a number; those of a decoder have none.
        match self.stream.compression() {
            Some(compression) if error.raw_os_error().is_none() => {
                self.damaged(&format!("the {compression} data are damaged or cut short: {error}"))
            }
            _ => SourceError::Fault(format!("cannot read {}: {error}", label(&self.name))),
        }
    }
}

/// The name of a source in messages.
fn label(name: &str) -> &str {
    if name == STANDARD_INPUT { "standard input" } else { name }
}

impl PacketSource for CaptureSource {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        match std::mem::replace(&mut self.state, CaptureReadState::Reading) {
            CaptureReadState::Reading => {}
            CaptureReadState::Ended => {
                self.state = CaptureReadState::Ended;
                return Ok(Poll::Ended);
            }
            CaptureReadState::Failed(error) => {
                self.state = CaptureReadState::Ended;
                return Err(error);
            }
        }
        let mut reads = 0;
        loop {
            let PassResult { frames, stop, .. } = self.parse();
            let needed = match stop {
                // A loss before the first frame of a burst ends a pass, too.
                PassEnd::Full if frames == 0 => continue,
                PassEnd::Full => 0,
                PassEnd::Short(needed) => needed,
                PassEnd::Foreign(reason) => {
                    self.state = CaptureReadState::Failed(self.foreign(&reason));
                    0
                }
                PassEnd::Damaged(reason) => {
                    self.state = CaptureReadState::Failed(self.damaged(&reason));
                    0
                }
            };
            if frames > 0 {
                // SAFETY: each of these descriptors was just filled with a slice of the stream's buffer, which
                // changes only under `&mut self`, that is, not while the burst borrows `self`.
                return Ok(Poll::Burst(unsafe { Burst::new(&self.slots[..frames]) }));
            }
            if let CaptureReadState::Failed(error) =
                std::mem::replace(&mut self.state, CaptureReadState::Reading)
            {
                self.state = CaptureReadState::Ended;
                return Err(error);
            }
            if reads == READS_PER_BURST {
                return Ok(Poll::Idle);
            }
            reads += 1;
            match self.stream.fill() {
                Ok(Filled::More) => {}
                Ok(Filled::Idle) => return Ok(Poll::Idle),
                Ok(Filled::End) => {
                    self.state = CaptureReadState::Ended;
                    if let CaptureFormat::Pcapng(reader) = &self.format {
                        reader.end_section(&self.name, &mut self.warnings);
                    }
                    return self.at_end(needed).map(|()| Poll::Ended);
                }
                Err(error) => {
                    self.state = CaptureReadState::Ended;
                    return Err(self.read_failure(&error));
                }
            }
        }
    }

    fn time_base(&self) -> TimeBase {
        TimeBase::Packets
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// The sums of `isb_ifdrop` and `isb_osdrop` over the interfaces of a pcapng file that has them; both count
    /// frames that are not in the file, lost before and in the capturing machine's own buffers. `epb_dropcount`: what packets say was
    /// lost before them, of interfaces without statistics all of it, of others what is in excess of those.
    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        match &mut self.format {
            CaptureFormat::Pcapng(reader) => {
                self.lost = reader.lost().map(|now| grown(self.lost.as_deref().unwrap_or_default(), &now));
                self.lost.clone()
            }
            CaptureFormat::Unknown | CaptureFormat::Pcap(_) => None,
        }
    }

    fn has_new_loss(&self) -> bool {
        matches!(&self.format, CaptureFormat::Pcapng(reader) if reader.has_new_loss())
    }

    fn progress(&self) -> Option<SourceProgress> {
        let done = self.stream.file_bytes();
        Some(SourceProgress { done, total: self.total.map(|total| total.max(done)) })
    }

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings.texts)
    }
}

#[cfg(test)]
mod tests;
