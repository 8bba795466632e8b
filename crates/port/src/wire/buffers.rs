//! The buffers that frames are handed out in, in addition to their descriptors.

use crate::FrameDescriptor;
use std::fmt::Debug;

/// Buffers that a queue takes for each frame and gives back with the next poll.
pub(crate) trait Buffers: Debug + Send {
    /// Takes the buffers of the last burst back.
    fn release(&mut self);

    /// Makes sure of this many buffers. `false` without having taken any.
    fn reserve(&mut self, count: usize) -> bool;

    /// Puts frames into the buffers that were reserved, as many, and describes them as they are there.
    fn fill(&mut self, frames: &mut [FrameDescriptor]);

    /// Frames for which there was no buffer.
    fn rx_nombuf(&self) -> u64;
}
