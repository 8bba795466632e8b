//! The frames that a wire replays, spread over its queues.

use super::memory::{self, FrameMemory};
use super::spec::WireSpec;
use crate::{Burst, Frame, FrameDescriptor, PacketSource, Poll, SourceError, SourceSetting, TimeBase};
use packet::{RssSpec, Toeplitz};

/// Entries of the redirection table: the hash's low bits choose one.
const REDIRECTIONS: u32 = 128;

/// Frames in memory, each with its hash and in the list of the queue that it comes to.
///
/// A queue's frames lie in sequence and are read in this order, lap after lap.
pub struct Trace {
    pub(super) queues: Vec<QueueFrames>,
    /// The queue of each frame.
    owners: Vec<u8>,
    /// The hash by which frames are spread.
    rss: RssSpec,
    bytes: u64,
    longest: u32,
    /// The least and the most time of a frame.
    times_ns: (u64, u64),
    /// The reason why these are not all frames of a damaged source.
    damage: Option<SourceError>,
}

/// The frames of one queue.
#[derive(Debug, Default)]
pub(super) struct QueueFrames {
    /// The frames as they are handed out, with the times at which they were captured.
    pub(super) descriptors: Vec<FrameDescriptor>,
    /// The numbers of the frames in the trace; empty where the queue is the only one.
    numbers: Vec<u32>,
    pub(super) wire_bytes: u64,
    order: FrameBitmap,
    memory: FrameMemory,
}

impl QueueFrames {
    /// The number in the trace of the frame at a place of the list.
    #[inline(always)]
    pub(super) fn number(&self, index: usize) -> u32 {
        // A single queue's list is the trace.
        self.numbers.get(index).copied().unwrap_or(index as u32)
    }
}

// SAFETY: the pointers point into the trace's own memory, which is not written to once it is loaded.
unsafe impl Send for Trace {}
// SAFETY: as above.
unsafe impl Sync for Trace {}

impl Trace {
    /// Bytes in addition to a frame's own: its descriptor, number, owner, place in the order, and what a
    /// schedule keeps of it.
    const BYTES_BESIDE: u64 = size_of::<FrameDescriptor>() as u64 + 4 + 1 + 1 + 8;

    /// Takes all frames of a source, for this many queues (1 to 128), into at most `limit` bytes; of a damaged one those
    /// before the damage.
    ///
    /// # Errors
    /// Returns `Refused` for a live source, no frames, or more than the limit, and what the source fails with: `Damaged` only where that
    /// leaves no frame.
    pub fn load(source: &mut dyn PacketSource, queues: usize, limit: u64) -> Result<Self, SourceError> {
        Self::load_hashed(source, queues, limit, &RssSpec::default())
    }

    /// Takes frames as [`Trace::load`] does, and spreads them over the queues by this hash.
    ///
    /// # Errors
    /// Returns the errors of [`Trace::load`].
    pub fn load_hashed(
        source: &mut dyn PacketSource,
        queues: usize,
        limit: u64,
        rss: &RssSpec,
    ) -> Result<Self, SourceError> {
        if source.time_base() == TimeBase::Clock {
            return Err(SourceError::Refused(
                SourceSetting::Wire,
                format!("it replays captures and synthetic traffic: {} is live already", source.name()),
            ));
        }
        let mut loading = Loading::new(queues, limit, rss)?;
        loop {
            let name = source.name().to_owned();
            let poll = match source.rx_burst() {
                Err(error @ SourceError::Damaged(_)) if !loading.trace.owners.is_empty() => {
                    loading.trace.damage = Some(error);
                    break;
                }
                poll => poll?,
            };
            match poll {
                Poll::Burst(burst) => {
                    for frame in burst.frames() {
                        loading.push(&frame, &name)?;
                    }
                    continue;
                }
                Poll::Idle => {}
                Poll::Ended => break,
            }
            source.wait();
        }
        loading.finish(source.name())
    }

    /// Returns a trace of the same frames for another number of queues.
    ///
    /// # Errors
    /// Returns `Open` for more queues than possible, or more than `limit` bytes.
    pub fn spread(&self, queues: usize, limit: u64) -> Result<Self, SourceError> {
        let mut loading = Loading::new(queues, limit, &self.rss)?;
        for descriptor in self.in_order() {
            // SAFETY: it points into this trace's memory, which lives as long as `self` and is not written.
            let burst = unsafe { Burst::new(std::slice::from_ref(descriptor)) };
            for frame in burst.frames() {
                loading.push(&frame, "the trace")?;
            }
        }
        loading.finish("the trace")
    }

    /// Takes the reason why these are not all frames of the source: what it failed with after the last of them.
    pub fn take_damage(&mut self) -> Option<SourceError> {
        self.damage.take()
    }

    /// Frames in the order of the trace.
    fn in_order(&self) -> impl Iterator<Item = &FrameDescriptor> {
        let mut next = vec![0; self.queues.len()];
        self.owners.iter().map(move |&owner| {
            let at = &mut next[usize::from(owner)];
            *at += 1;
            &self.queues[usize::from(owner)].descriptors[*at - 1]
        })
    }

    /// Lengths on the wire in the order of the trace.
    pub(super) fn wire_lens(&self) -> Vec<u32> {
        self.in_order().map(|descriptor| descriptor.wire_len).collect()
    }

    /// Frames of all queues, at least one.
    pub fn frames(&self) -> u64 {
        self.owners.len() as u64
    }

    /// Returns the number of queues for which the trace was loaded.
    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    /// Frames of one queue.
    pub fn queue_frames(&self, queue: usize) -> u64 {
        self.queues[queue].descriptors.len() as u64
    }

    /// Returns the memory that the trace takes.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// The time from one lap of a replay to the next: no frame of a lap is older than any of the previous
    /// one.
    pub(super) fn lap_ns(&self) -> u64 {
        self.times_ns.1.saturating_sub(self.times_ns.0) + 1
    }

    /// Returns true if the times of this many packets of a replay are representable.
    pub(super) fn can_replay(&self, packets: u64) -> bool {
        let laps = packets.saturating_sub(1) / self.frames();
        let later_ns = self.lap_ns().checked_mul(laps);
        let last_ns = later_ns.and_then(|later_ns| self.times_ns.1.checked_add(later_ns));
        last_ns.is_some_and(|last_ns| last_ns <= Frame::LATEST_NS)
    }

    /// The most captured bytes of a frame.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// Returns how many of the first `packets` packets of the replay reach a queue.
    #[inline]
    pub(super) fn share(&self, queue: usize, packets: u64) -> u64 {
        if self.queues.len() == 1 {
            return packets;
        }
        let (laps, rest) = (packets / self.frames(), packets % self.frames());
        let queue = &self.queues[queue];
        laps * queue.descriptors.len() as u64 + queue.order.before(rest as usize)
    }
}

/// Millions of frames are of no use in debug output.
impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({} frames, {} queues)", self.frames(), self.queues.len())
    }
}

/// The frames of a queue: one bit per frame, and the number of set bits before each word.
#[derive(Debug, Default)]
struct FrameBitmap(Vec<(u64, u64)>);

impl FrameBitmap {
    fn new(owners: &[u8], owner: u8) -> Self {
        let mut before = 0;
        let mut words: Vec<_> = owners
            .chunks(64)
            .map(|chunk| {
                let bits = chunk.iter().rev().fold(0, |bits, &other| bits << 1 | u64::from(other == owner));
                let word = (bits, before);
                before += u64::from(bits.count_ones());
                word
            })
            .collect();
        words.push((0, before));
        Self(words)
    }

    /// Returns how many of the first `frames` frames are in the queue.
    #[inline]
    fn before(&self, frames: usize) -> u64 {
        let (bits, before) = self.0[frames / 64];
        before + u64::from((bits & ((1 << (frames % 64)) - 1)).count_ones())
    }
}

struct Loading {
    trace: Trace,
    toeplitz: Toeplitz,
    limit: u64,
}

impl Loading {
    fn new(queues: usize, limit: u64, rss: &RssSpec) -> Result<Self, SourceError> {
        if !(1..=WireSpec::MOST_QUEUES).contains(&queues) {
            return Err(SourceError::Open(format!(
                "{queues} queues: a wire has from 1 to {}",
                WireSpec::MOST_QUEUES
            )));
        }
        let queues = (0..queues).map(|_| QueueFrames::default()).collect();
        let toeplitz = rss.key.toeplitz();
        Ok(Self {
            trace: Trace {
                queues,
                owners: Vec::new(),
                rss: *rss,
                bytes: 0,
                longest: 0,
                times_ns: (u64::MAX, 0),
                damage: None,
            },
            toeplitz,
            limit,
        })
    }

    fn push(&mut self, frame: &Frame<'_>, name: &str) -> Result<(), SourceError> {
        let hash = self.toeplitz.frame_fields(frame, &self.trace.rss.fields);
        // As drivers fill the table: entry i selects queue i modulo their number. Without a hash, entry 0.
        let owner = hash.unwrap_or(0) % REDIRECTIONS % self.trace.queues.len() as u32;
        let queue = &mut self.trace.queues[owner as usize];
        let bytes = self.trace.bytes + Trace::BYTES_BESIDE + queue.memory.needs(frame.data.len()) as u64;
        if bytes > self.limit || self.trace.owners.len() == u32::MAX as usize {
            return Err(SourceError::Refused(
                SourceSetting::Wire,
                format!(
                    "it holds its frames in memory, and {name} has more than fit into {}: {} were read; give a shorter source, or one that cuts frames (snap)",
                    megabytes(self.limit),
                    self.trace.owners.len()
                ),
            ));
        }
        self.trace.bytes = bytes;
        self.trace.longest = self.trace.longest.max(frame.data.len() as u32);
        let (first, last) = self.trace.times_ns;
        if frame.time_ns != Frame::NO_TIME {
            self.trace.times_ns = (first.min(frame.time_ns), last.max(frame.time_ns));
        }
        queue.descriptors.push(FrameDescriptor {
            data: queue.memory.push(frame.data),
            time_ns: frame.time_ns,
            captured: frame.data.len() as u32,
            wire_len: frame.wire_len,
            link: frame.link,
            stripped_vlan: frame.stripped_vlan,
            rss_hash: hash,
        });
        queue.numbers.push(self.trace.owners.len() as u32);
        queue.wire_bytes += u64::from(frame.wire_len);
        self.trace.owners.push(owner as u8);
        Ok(())
    }

    fn finish(mut self, name: &str) -> Result<Trace, SourceError> {
        if self.trace.owners.is_empty() {
            return Err(SourceError::Refused(
                SourceSetting::Wire,
                format!("{name} has no frames: there is nothing to put on the wire"),
            ));
        }
        self.trace.owners.shrink_to_fit();
        let is_only = self.trace.queues.len() == 1;
        for (owner, queue) in (0..).zip(&mut self.trace.queues) {
            queue.order = FrameBitmap::new(&self.trace.owners, owner);
            if is_only {
                queue.numbers = Vec::new();
            }
            // They grew by doubling.
            queue.descriptors.shrink_to_fit();
            queue.numbers.shrink_to_fit();
            memory::collapse(&queue.descriptors);
        }
        Ok(self.trace)
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
