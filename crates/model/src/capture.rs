//! Packets that a firing asked for.

use crate::{Counters, Integer};
use serde::{Deserialize, Serialize};

/// What became of the packets that an event asked a node for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The event.
    pub event: String,
    /// The node.
    pub node: String,
    /// The query that asked for them.
    pub query: String,
    /// Packets in the file.
    #[serde(with = "Integer")]
    pub packets: u64,
    /// Length of the file.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// The file at the node; `None` if there is none.
    pub file: Option<String>,
    /// Why it has ended; empty if it never began.
    pub ended_by: String,
    /// Packets that are not in the file, by cause.
    pub dropped: Counters,
    /// At least one packet is not there as a whole.
    pub cut: bool,
    /// Why there are no packets.
    pub refused: Option<String>,
}
