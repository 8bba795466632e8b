//! The kinds of planted events.

use crate::flow::CLIENTS;
use serde::Serialize;

/// Spoofed sources are drawn from 64.0.0.0/3.
pub(crate) const SPOOFED_BITS: u32 = 29;

/// A kind of event that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlantedEventKind {
    /// TCP SYNs from many spoofed sources to one destination and port.
    Flood,
    /// TCP SYNs from one source to one port of many destinations.
    Scan,
    /// TCP SYNs from one source to many ports of one destination.
    Portscan,
    /// A single TCP flow of full-sized packets.
    Elephant,
    /// TCP connections that lose segments before the observation point.
    Loss,
    /// TCP connections that lose segments after the observation point.
    Retransmission,
    /// TCP connections whose segments overtake others.
    Reorder,
}

impl PlantedEventKind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Flood,
        Self::Scan,
        Self::Portscan,
        Self::Elephant,
        Self::Loss,
        Self::Retransmission,
        Self::Reorder,
    ];

    /// The name in specifications and in the truth.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flood => "flood",
            Self::Scan => "scan",
            Self::Portscan => "portscan",
            Self::Elephant => "elephant",
            Self::Loss => "loss",
            Self::Retransmission => "retransmission",
            Self::Reorder => "reorder",
        }
    }

    /// Returns the name of the event's members (the key of a specification), their default number, and the maximum; none where it has no
    /// members.
    pub(crate) const fn members(self) -> Option<(&'static str, u64, u64)> {
        match self {
            Self::Flood => Some(("sources", 40_000, 1 << SPOOFED_BITS)),
            Self::Scan => Some(("targets", 20_000, CLIENTS as u64)),
            Self::Portscan => Some(("ports", 10_000, 65_535)),
            Self::Elephant | Self::Loss | Self::Retransmission | Self::Reorder => None,
        }
    }

    /// Returns true if the event is one tap of a simulated path, which has its own times.
    pub(crate) const fn is_path(self) -> bool {
        matches!(self, Self::Loss | Self::Retransmission | Self::Reorder)
    }

    /// Length of its packets as the IP header states it.
    pub(crate) const fn total_byte(self) -> u32 {
        match self {
            Self::Flood | Self::Scan | Self::Portscan => 40,
            // The full segments of a path; its other packets are shorter.
            Self::Elephant | Self::Loss | Self::Retransmission | Self::Reorder => 1500,
        }
    }
}
