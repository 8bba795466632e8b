//! The buffers that frames are handed out in, in addition to their descriptors.

use crate::FrameDescriptor;
use std::fmt::Debug;

/// Buffers that a queue takes for each frame and returns with the next poll.
pub trait Buffers: Debug + Send {
    /// Takes the buffers of the last burst back.
    fn release(&mut self);

    /// Reserves this many buffers. Returns `false` if it could not; then none are taken.
    fn reserve(&mut self, count: usize) -> bool;

    /// Puts frames into the reserved buffers, of which there are as many, and updates their descriptors.
    fn fill(&mut self, frames: &mut [FrameDescriptor]);

    /// Frames for which there was no buffer.
    fn rx_nombuf(&self) -> u64;
}
