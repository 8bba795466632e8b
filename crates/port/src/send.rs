//! Sending generated frames: from a kernel interface or a DPDK port, at a set rate.

mod clock;
mod feed;
mod interface;
mod pace;
mod transmit;

pub use clock::{SendClock, SystemSendClock};
pub use feed::FrameFeed;
pub use interface::InterfaceSink;
pub use pace::{Pacing, SendSchedule};
pub use transmit::{TransmitReport, transmit};

use crate::{SourceCounter, SourceError};

/// A destination of frames.
pub trait PacketSink {
    /// Returns the name that the user gave the sink.
    fn name(&self) -> &str;

    /// Returns the length of the longest frame that the sink takes now, bytes without check sequence.
    fn longest(&self) -> usize;

    /// Returns the speed of the link in bits per second; `None` where the device does not tell it, such as while the link is down.
    fn link_speed(&self) -> Option<u64>;

    /// Returns true if the link is down, or was found to be down by a hand-over since the last call; false where that is not known. A device
    /// may take frames while its link is down, and lose them without a counter.
    fn link_was_down(&mut self) -> bool {
        false
    }

    /// Takes frames from the front of `frames`, none longer than [`PacketSink::longest`], and returns how
    /// many; 0 if there is no room now. Does not block for longer than some milliseconds.
    ///
    /// # Errors
    /// Returns [`SourceError::Fault`] if nothing can be sent any more. Nothing of `frames` was taken then.
    fn tx_burst(&mut self, frames: &[&[u8]]) -> Result<usize, SourceError>;

    /// Waits, a second at most, until what was taken has left.
    fn finish(&mut self);

    /// Returns what was lost after it had been accepted, as far as known: counters of the device, by their names there.
    fn lost(&mut self) -> Vec<SourceCounter>;
}
