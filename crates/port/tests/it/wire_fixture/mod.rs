//! A clock that is stopped until it is set, frames by hand, and traces.

use port::wire::{ThreadTime, Trace, WireClock};
use port::{
    Burst, Frame, FrameDescriptor, PacketSource, Poll, SourceCounter, SourceError, SyntheticSource, TimeBase,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// More than any trace here needs.
pub(crate) const LIMIT: u64 = 1 << 30;
/// What the tests' clock is ahead by of the epoch.
pub(crate) const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

/// A queue's clock, set by its test.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestClock {
    pub(crate) now: Arc<AtomicU64>,
    /// Time off the core so far.
    pub(crate) off: Arc<AtomicU64>,
    pub(crate) blocked: Arc<AtomicU64>,
}

impl WireClock for TestClock {
    fn now_ns(&mut self) -> u64 {
        self.now.load(Relaxed)
    }

    fn thread(&mut self) -> ThreadTime {
        // A thread's clock has its own origin.
        let cpu_ns = 77 + self.now.load(Relaxed) - self.off.load(Relaxed);
        ThreadTime { cpu_ns, blocked: self.blocked.load(Relaxed) }
    }

    fn epoch_offset_ns(&mut self) -> u64 {
        EPOCH_NS
    }
}

/// A source of frames that a test wrote: captured bytes and time.
pub(crate) struct Frames {
    frames: Vec<(Vec<u8>, u64)>,
    descriptors: Vec<FrameDescriptor>,
    pub(crate) base: TimeBase,
    done: bool,
}

impl Frames {
    pub(crate) fn new(frames: Vec<(Vec<u8>, u64)>) -> Self {
        Self { frames, descriptors: Vec::new(), base: TimeBase::Packets, done: false }
    }
}

impl PacketSource for Frames {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        if std::mem::replace(&mut self.done, true) || self.frames.is_empty() {
            return Ok(Poll::Ended);
        }
        self.descriptors = self
            .frames
            .iter()
            .map(|(data, time_ns)| FrameDescriptor {
                data: data.as_ptr(),
                time_ns: *time_ns,
                captured: data.len() as u32,
                wire_len: data.len() as u32,
                link: packet::LinkType::Ethernet,
                ..FrameDescriptor::EMPTY
            })
            .collect();
        // SAFETY: each points to a frame of `self`, which is not written to.
        Ok(Poll::Burst(unsafe { Burst::new(&self.descriptors) }))
    }

    fn time_base(&self) -> TimeBase {
        self.base
    }

    fn name(&self) -> &str {
        "frames"
    }

    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        None
    }
}

/// A frame as it was received, or as it is expected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Received {
    pub(crate) data: Vec<u8>,
    pub(crate) wire_len: u32,
    pub(crate) time_ns: u64,
    pub(crate) rss_hash: Option<u32>,
}

impl Received {
    pub(crate) fn new(frame: &Frame<'_>, rss_hash: Option<u32>) -> Self {
        Self { data: frame.data.to_vec(), wire_len: frame.wire_len, time_ns: frame.time_ns, rss_hash }
    }

    pub(crate) fn all(burst: &Burst<'_>) -> Vec<Self> {
        burst.frames().zip(burst.rss_hashes()).map(|(frame, hash)| Self::new(&frame, hash)).collect()
    }
}

/// Everything of a source, with the hash that a card gives it.
pub(crate) fn drain(source: &mut dyn PacketSource) -> Vec<Received> {
    let toeplitz = packet::Toeplitz::new(&packet::Toeplitz::SYMMETRIC_KEY);
    let mut all = Vec::new();
    while let Poll::Burst(burst) = source.rx_burst().expect("the source works") {
        all.extend(burst.frames().map(|frame| Received::new(&frame, toeplitz.frame(&frame))));
    }
    all
}

/// A trace of generated frames, and the frames.
pub(crate) fn synthetic(spec: &str, queues: usize) -> (Arc<Trace>, Vec<Received>) {
    let open = || SyntheticSource::open(spec, 32).expect("the specification is right");
    let trace = Trace::load(&mut open(), queues, LIMIT).expect("the trace fits");
    (Arc::new(trace), drain(&mut open()))
}

/// An Ethernet frame with IPv4 and UDP between these two.
pub(crate) fn udp(from: (u32, u16), to: (u32, u16), ethertype: u16) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(ethertype.to_be_bytes());
    frame.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(from.0.to_be_bytes());
    frame.extend(to.0.to_be_bytes());
    frame.extend(from.1.to_be_bytes());
    frame.extend(to.1.to_be_bytes());
    frame.resize(60, 0);
    frame
}
