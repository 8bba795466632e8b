//! The result of a receiver.

use crate::window::WindowHeader;
use model::{Counters, PacketCounts, Span};

/// The final result of a receiver.
#[derive(Debug)]
pub(crate) struct ReceiverEnd {
    /// The counts of frames; `measured` is not filled in.
    pub(crate) packets: PacketCounts,
    /// The losses of the sources and rings; `None` if a source cannot know.
    pub(crate) loss: Option<Counters>,
    /// The span of stream time.
    pub(crate) span: Option<Span>,
    /// Stream time at the end.
    pub(crate) now: u64,
}

impl ReceiverEnd {
    /// The contribution of one window.
    pub(crate) fn from_window(window: &WindowHeader) -> Self {
        let WindowHeader { packets, loss, span, .. } = window.clone();
        Self { packets, loss, span: Some(span), now: span.end_ns }
    }
}
