//! The boundaries of windows: where one ends and the next begins.

use crate::config::Every;
use crate::ids::WindowId;
use crate::work::ThreadLoad;
use flow::Share;
use model::{Counters, PacketCounts, Span, WindowEnd};

/// The open window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenWindow {
    pub(crate) number: WindowId,
    pub(crate) start_ns: u64,
    /// The stream time at which the window is over; `u64::MAX` if packets end it.
    pub(crate) end_ns: u64,
    /// The number of frames that the window still takes; `u64::MAX` if time ends it.
    pub(crate) frames_left: u64,
}

impl OpenWindow {
    /// The window to which stream time `now` belongs; `index` windows precede it.
    pub(crate) fn at(index: u64, now: u64, every: Every) -> Self {
        match every {
            Every::Time(length) => {
                let start_ns = now - now % length;
                let end_ns = start_ns.saturating_add(length);
                Self { number: WindowId::new(now / length), start_ns, end_ns, frames_left: u64::MAX }
            }
            Every::Packets(frames) => {
                Self { number: WindowId::new(index), start_ns: now, end_ns: u64::MAX, frames_left: frames }
            }
        }
    }

    /// Returns the reason why the window ends when stream time reaches `now`.
    pub(crate) fn ended_by(&self, now: u64) -> WindowEnd {
        let length = self.end_ns - self.start_ns;
        if now >= self.end_ns.saturating_add(length) { WindowEnd::Jump } else { WindowEnd::Full }
    }

    /// Returns the window's span when it is closed at stream time `now`.
    pub(crate) fn span(&self, now: u64) -> Span {
        let end_ns = if self.end_ns == u64::MAX { now.saturating_add(1) } else { self.end_ns };
        Span { start_ns: self.start_ns, end_ns }
    }
}

/// The report of a receiver on a window that is over.
#[derive(Clone, Debug)]
pub(crate) struct WindowHeader {
    pub(crate) number: WindowId,
    pub(crate) span: Span,
    /// The part of the window that was observed.
    pub(crate) watched: Span,
    pub(crate) ended_by: WindowEnd,
    /// The begin of the next window with a frame, where that frame ended this one.
    pub(crate) next_ns: Option<u64>,
    /// The counts of the window's frames; `measured` comes from the tables.
    pub(crate) packets: PacketCounts,
    pub(crate) loss: Option<Counters>,
    /// The reason why the source may have more than was read of it; `None`: it was read to its end, or goes on.
    pub(crate) lacks: Option<String>,
    pub(crate) work: ThreadLoad,
    /// The share by which the window's packets were sampled; `None`: all are measured.
    pub(crate) share: Option<Share>,
    /// The length on the wire that no frame of a sample exceeds, whether it was sampled or not.
    pub(crate) longest_byte: u32,
    /// The number of packets handed to each worker; the receiver's own tables are one.
    pub(crate) handed_over: Vec<u64>,
}
