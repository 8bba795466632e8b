//! The frames of a trial, as they are sent.

use crate::frame::{Addressing, FrameSignature};
use crate::trial::TrialPlan;
use port::FrameFeed;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use traffic::{FrameOrigin, GeneratedFrame};

/// Frames that are generated between two readings of the clock.
const CLOCK_EVERY: u64 = 64;

/// The frames of a trial: all alike but for their signatures. It ends with the last one, or when the time of the trial is over.
#[derive(Debug)]
pub(crate) struct TestStream {
    frame: Vec<u8>,
    trial: u32,
    frames: u64,
    next: u64,
    time: Duration,
    began: Instant,
    /// The time of the frames that are handed over now.
    now_ns: u64,
}

impl TestStream {
    /// A stream whose time begins now.
    pub(crate) fn new(addressing: &Addressing, plan: &TrialPlan, trial: u32) -> Self {
        Self {
            frame: addressing.test_frame(plan.frame_size),
            trial,
            frames: plan.frames,
            next: 0,
            time: Duration::from_nanos(plan.deadline_ns()),
            began: Instant::now(),
            now_ns: 0,
        }
    }
}

impl FrameFeed for TestStream {
    fn longest(&self) -> usize {
        self.frame.len()
    }

    fn next_frame(&mut self, slot: &mut [u8]) -> Option<GeneratedFrame> {
        let is_over =
            self.next.is_multiple_of(CLOCK_EVERY) && self.next > 0 && self.began.elapsed() > self.time;
        if self.next == self.frames || is_over {
            return None;
        }
        let length = self.frame.len();
        slot[..length].copy_from_slice(&self.frame);
        FrameSignature { trial: self.trial, sequence: self.next, time_ns: 0 }.write(slot);
        self.next += 1;
        Some(GeneratedFrame {
            time_ns: 0,
            captured: length as u32,
            wire_len: length as u32,
            total_byte: length as u32 - 14,
            origin: FrameOrigin::Rank(0),
        })
    }

    fn take_back(&mut self, _frame: &GeneratedFrame) {
        self.next -= 1;
    }

    fn leaving(&mut self) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.now_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    }

    fn stamp(&mut self, frame: &mut [u8]) {
        FrameSignature::write_time(frame, self.now_ns);
    }
}
