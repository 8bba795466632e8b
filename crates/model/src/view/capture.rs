//! A capture with what else is told of it.

use crate::{Counters, Integer, Nullable, Time};
use serde::{Deserialize, Serialize};

/// The packets that an event asked a node for.
///
/// With the place of the file, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Capture"))]
pub struct CaptureView {
    /// The event that asked for them.
    pub event: String,
    /// The name of the node.
    pub node: String,
    /// The query that asked for them.
    pub query: String,
    /// The time of the event; `None` if the event is not kept.
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
    /// The reason why the capture has ended: `packets`, `time`, `bytes`, `cancelled`, `run_end` or `fault`; empty if it never began.
    pub ended_by: String,
    /// The numbers of packets that are not in the file, by cause.
    pub dropped: Counters,
    /// True if the file lacks a part of at least one packet.
    pub cut: bool,
    /// The path of the file; `None` if it is not here.
    ///
    /// It has the event and the node alone: the file's name is of a probe.
    pub href: Option<String>,
    /// The reason why the file is not here.
    pub reason: Option<String>,
}
