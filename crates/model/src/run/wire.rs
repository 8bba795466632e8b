//! What a software wire observed of its receivers.

use crate::Integer;
use serde::{Deserialize, Serialize};

/// What a software wire observed of its receivers. The sums are over all queues, the longest absence is that
/// of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireReport {
    /// Packets that arrived.
    #[serde(with = "Integer")]
    pub offered: u64,
    /// Packets that were received.
    #[serde(with = "Integer")]
    pub delivered: u64,
    /// Packets that arrived at a full ring.
    #[serde(with = "Integer")]
    pub imissed: u64,
    /// Packets that would have arrived if the wire's clock had stopped while a receiver was off its core.
    #[serde(with = "Integer")]
    pub offered_clock_stopped: u64,
    /// Packets that would have arrived at a full ring under the same condition.
    #[serde(with = "Integer")]
    pub imissed_clock_stopped: u64,
    /// The number of noticeable times that a receiver was off its core.
    #[serde(with = "Integer")]
    pub gaps: u64,
    /// Their total length, nanoseconds.
    #[serde(with = "Integer")]
    pub gap_ns: u64,
    /// The longest of them, nanoseconds.
    #[serde(with = "Integer")]
    pub longest_gap_ns: u64,
    /// Times that the pool had no mbuf for a packet, which then waited in its ring. 0 without mbufs.
    #[serde(with = "Integer")]
    pub rx_nombuf: u64,
}
