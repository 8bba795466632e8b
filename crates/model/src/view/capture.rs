//! A capture with what else is told of it.

use crate::{Counters, integer, rfc3339};
use serde::{Deserialize, Serialize};

/// A capture, where its file is, and why it is nowhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureView {
    /// The event that asked for it.
    pub event: String,
    /// The node.
    pub node: String,
    /// The query.
    pub query: String,
    /// When the event happened, nanoseconds since the epoch; `None` if it is not kept.
    #[serde(rename = "at", with = "rfc3339::option")]
    pub at_ns: Option<u64>,
    /// The identifier of the story that the event is part of.
    pub story: Option<String>,
    /// Packets in the file.
    #[serde(with = "integer")]
    pub packets: u64,
    /// Length of the file.
    #[serde(with = "integer")]
    pub bytes: u64,
    /// The file at the node; `None` if there is none.
    pub file: Option<String>,
    /// Why it has ended; empty if it never began.
    pub ended_by: String,
    /// Packets that are not in the file, by cause.
    pub dropped: Counters,
    /// At least one packet is not there as a whole.
    pub cut: bool,
    /// The address of the file, without the server. It has the event and the node alone: the file's name is of a probe.
    pub href: Option<String>,
    /// Why the file has no address.
    pub reason: Option<String>,
}
