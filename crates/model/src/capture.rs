//! Packets that a firing asked for.

use crate::{Counters, Integer};
use serde::{Deserialize, Serialize};

/// The packets that an event asked a node for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    /// The event that asked for them.
    pub event: String,
    /// The name of the node.
    pub node: String,
    /// The query that asked for them.
    pub query: String,
    /// The number of packets in the file.
    #[serde(with = "Integer")]
    pub packets: u64,
    /// The length of the file, bytes.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// The file at the node; `None` if there is none.
    pub file: Option<String>,
    /// The reason why the capture has ended: `packets`, `time`, `bytes`, `cancelled`, `run_end` or `fault`; empty if it never began.
    pub ended_by: String,
    /// The numbers of packets that are not in the file, by cause.
    pub dropped: Counters,
    /// True if the file lacks a part of at least one packet.
    pub cut: bool,
    /// The reason why there are no packets; `None` where there are some.
    pub refused: Option<String>,
}
