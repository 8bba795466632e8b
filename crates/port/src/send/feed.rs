//! The feeds of frames to send.

use traffic::{GeneratedFrame, Generator};

/// Frames that [`transmit()`](super::transmit()) sends, generated some ahead.
pub trait FrameFeed {
    /// Returns the length of the longest frame, bytes without check sequence.
    fn longest(&self) -> usize;

    /// Writes the next frame to the beginning of `slot`, which has room for [`FrameFeed::longest`]; `None` at the end.
    fn next_frame(&mut self, slot: &mut [u8]) -> Option<GeneratedFrame>;

    /// Takes note that the last frame that is not yet sent, or taken back, was generated and is not sent.
    fn take_back(&mut self, frame: &GeneratedFrame);

    /// Prepares for frames that are handed over now, in one call of the sink.
    fn leaving(&mut self) {}

    /// Writes into a frame that is handed over now what is known only now. A frame that the sink does not take comes again.
    fn stamp(&mut self, _frame: &mut [u8]) {}
}

impl FrameFeed for Generator {
    fn longest(&self) -> usize {
        self.longest_capture()
    }

    fn next_frame(&mut self, slot: &mut [u8]) -> Option<GeneratedFrame> {
        Generator::next_frame(self, slot)
    }

    fn take_back(&mut self, frame: &GeneratedFrame) {
        Generator::take_back(self, frame);
    }
}
