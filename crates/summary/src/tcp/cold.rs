//! The cold part of a stream: what is touched only where something is missing or out of place.

use super::holes::{Holes, MAX_HOLES};

/// What is kept of a stream beside [`HotStream`](super::HotStream). 160 bytes. It need not be initialised for a
/// new connection: the hot part knows whether it is in use.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColdStream {
    pub(super) holes: Holes,
    /// When the stream was picked up without its SYN, nanoseconds.
    pub(super) picked_up_ns: u64,
    /// Where a segment or an acknowledgement led that no window allows: a second one that leads there is believed.
    pub(super) stray: Option<u32>,
    /// Bytes that large holes may still take on trust.
    pub(super) trust: u32,
    /// Up to here the stream was seen when `trust` was last reckoned.
    pub(super) trusted_to: u32,
    /// Bytes that were seen in a row while the latest holes opened: at each, an eighth of what is older is forgotten.
    pub(super) recent: u32,
}

const _: () = assert!(MAX_HOLES == 8 && size_of::<ColdStream>() <= 192);
