//! The cold part of a stream: what is touched only if something is missing or out of order.

use super::holes::{Holes, MAX_HOLES};

/// The part of a stream's state that is kept in addition to [`HotStream`](super::HotStream). 160 bytes. It need not be initialised for a
/// new connection: the hot part knows whether it is in use.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColdStream {
    pub(super) holes: Holes,
    /// Time when the stream was picked up without its SYN, nanoseconds.
    pub(super) picked_up_ns: u64,
    /// The position of a segment or an acknowledgement beyond any allowed window: a second one there is
    /// trusted.
    pub(super) stray: Option<u32>,
    /// Bytes that large holes may still cover on trust.
    pub(super) trust: u32,
    /// The end of the stream when `trust` was last computed.
    pub(super) trusted_to: u32,
    /// Bytes that were seen in a row while the latest holes opened: at each, an eighth of what is older is forgotten.
    pub(super) recent: u32,
}

const _: () = assert!(MAX_HOLES == 8 && size_of::<ColdStream>() <= 192);
