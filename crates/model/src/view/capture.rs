//! A capture with what else is told of it.

use crate::{Counters, Integer, Nullable, Time};
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
    /// The time of the event, nanoseconds since the epoch; `None` if it is not kept.
    #[serde(rename = "at", with = "Nullable::<Time>")]
    pub at_ns: Option<u64>,
    /// The identifier of the story that the event is part of.
    pub story: Option<String>,
    /// The number of packets in the file.
    #[serde(with = "Integer")]
    pub packets: u64,
    /// The length of the file, bytes.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// The file at the node; `None` if there is none.
    pub file: Option<String>,
    /// The reason why it has ended; empty if it never began.
    pub ended_by: String,
    /// Numbers of packets that are not in the file, by cause.
    pub dropped: Counters,
    /// True if the file lacks a part of at least one packet.
    pub cut: bool,
    /// The address of the file, without the server. It has the event and the node alone: the file's name is of a probe.
    pub href: Option<String>,
    /// The reason why the file has no address.
    pub reason: Option<String>,
}
