//! The observations that a software wire made of its receivers.

use crate::Integer;
use serde::{Deserialize, Serialize};

/// The observations of a software wire. The sums are over all queues, the longest absence is that of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireReport {
    /// The number of packets that arrived.
    #[serde(with = "Integer")]
    pub offered: u64,
    /// The number of packets that were received.
    #[serde(with = "Integer")]
    pub delivered: u64,
    /// The number of packets that arrived at a full ring.
    #[serde(with = "Integer")]
    pub imissed: u64,
    /// The number of packets that would have arrived if the clock of the wire had stopped while a receiver was off its core.
    #[serde(with = "Integer")]
    pub offered_clock_stopped: u64,
    /// The number of packets that would have arrived at a full ring under the same condition.
    #[serde(with = "Integer")]
    pub imissed_clock_stopped: u64,
    /// The number of noticeable times that a receiver was off its core.
    #[serde(with = "Integer")]
    pub gaps: u64,
    /// The total length of these times, nanoseconds.
    #[serde(with = "Integer")]
    pub gap_ns: u64,
    /// The longest of these times, nanoseconds.
    #[serde(with = "Integer")]
    pub longest_gap_ns: u64,
    /// The number of times that the pool had no mbuf for a packet, which then waited in its ring. It is 0 without mbufs.
    #[serde(with = "Integer")]
    pub rx_nombuf: u64,
}
