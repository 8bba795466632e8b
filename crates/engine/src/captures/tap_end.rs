//! The end of a receiver's ring at which the thread that writes reads what the receiver hands over.

use super::entry::{FrameMetadata, HEAD};
use arena::Lease;
use rtrb::Consumer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// The state of a receiver, as it tells it itself.
#[derive(Debug, Default)]
pub(super) struct TapState {
    /// The stream time of the receiver, as far as orders need it: the begin of its window.
    pub(super) time_ns: AtomicU64,
    /// True if the receiver has ended.
    pub(super) is_over: AtomicBool,
}

/// The other end of a receiver's ring.
#[derive(Debug)]
pub(super) struct TapEnd {
    frames: Consumer<u8>,
    state: Arc<TapState>,
    _memory: Lease,
}

impl TapEnd {
    pub(super) fn new(frames: Consumer<u8>, state: Arc<TapState>, memory: Lease) -> Self {
        Self { frames, state, _memory: memory }
    }

    /// The begin of the receiver's window, the last one where it has ended.
    pub(super) fn time_ns(&self) -> u64 {
        self.state.time_ns.load(SeqCst)
    }

    /// Returns true if nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.state.is_over.load(SeqCst)
    }

    /// Bytes that are there now.
    pub(super) fn bytes(&self) -> usize {
        self.frames.slots()
    }

    /// Passes on the frames in the next `left` bytes.
    pub(super) fn each(
        &mut self,
        mut left: usize,
        frame: &mut Vec<u8>,
        mut take: impl FnMut(FrameMetadata, &[u8]),
    ) {
        while left >= HEAD {
            let mut head = [0; HEAD];
            self.read(&mut head);
            let head = FrameMetadata::read(&head);
            frame.clear();
            frame.resize(head.captured as usize, 0);
            // A frame is committed as a whole.
            self.read(frame);
            take(head, frame);
            left -= HEAD + frame.len();
        }
    }

    fn read(&mut self, into: &mut [u8]) {
        let Ok(chunk) = self.frames.read_chunk(into.len()) else { return };
        let (first, second) = chunk.as_slices();
        into[..first.len()].copy_from_slice(first);
        into[first.len()..].copy_from_slice(second);
        chunk.commit_all();
    }
}
