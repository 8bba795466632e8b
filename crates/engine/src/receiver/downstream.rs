//! The side of a receiver to which it passes parsed packets and the turns of windows on.

use crate::ids::WindowId;
use crate::keeping::SealedWindow;
use crate::refused::UncountedPackets;
use packet::{BurstParser, Packets};

/// The destination of parsed packets: tables on the same core, or the rings to other cores.
pub(crate) trait Downstream {
    /// Prefetches the memory of the frames after those that are parsed into the parser's burst now, this many.
    fn make_ready(&mut self, _: &BurstParser, _frames: usize) {}
    /// True if the parser's burst of this many packets, the first of which has waited for this long, had
    /// better be taken with more packets.
    fn waits_for_more(&self, _packets: usize, _held_ns: u64) -> bool {
        false
    }
    /// Prefetches the index lines of packets that were parsed just now and are counted with the rest of their burst.
    fn prefetch_index(&mut self, _: Packets<'_>) {}
    /// Takes the parser's burst, which is to be left empty. `now`: stream time before its first packet.
    fn count(&mut self, parser: &mut BurstParser, now: u64);
    /// Takes the parser's burst before an order. An order waits until it can be sent, and so do the packets before it.
    fn count_last(&mut self, parser: &mut BurstParser, now: u64) {
        self.count(parser, now);
    }
    /// Counts other tasks from this window on.
    fn enter(&mut self, window: WindowId);
    /// Ends the window at stream time `now`.
    fn turn(&mut self, window: WindowId, now: u64);
    /// Limits the workers that get packets to this many from here on. Stream time is `now`.
    fn use_workers(&mut self, _workers: usize, _now: u64) {}
    /// The share of the bursts since the last call at which the busiest worker had others waiting; `None` without workers on other cores.
    fn take_busy(&mut self) -> Option<f64> {
        None
    }
    /// A burst of `frames` of a replay is counted; stream time is `now`.
    fn sweep_replay(&mut self, frames: usize, now: u64);
    /// The clock of a live source is at `now`.
    fn sweep_live(&mut self, now: u64);
    /// Notes that there are no packets at the moment.
    fn idle(&mut self);
    /// Waits until all that was passed on is counted, and reported for the windows turned away from.
    fn settle(&mut self) {}
    /// The oldest window whose flows are all sealed here and that was not taken yet.
    fn take_sealed(&mut self) -> Option<SealedWindow> {
        None
    }
    /// Workers that were found to have failed since the last call, by lane.
    fn take_failed(&mut self) -> Vec<usize> {
        Vec::new()
    }
    /// Packets handed to each worker since the last call; empty with a single worker, which gets all of them.
    fn take_handed_over(&mut self) -> Vec<u64> {
        Vec::new()
    }
    /// Parsed packets that could not be passed on so far, by cause.
    fn refused(&self) -> UncountedPackets {
        UncountedPackets::default()
    }
}

/// Frames that are parsed between two calls of [`Downstream::prefetch_index`]: few of the usual burst of 256,
/// so that most of it is parsed while the index lines of the first are being fetched.
pub(crate) const EXPECTED: usize = 16;
