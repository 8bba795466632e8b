//! Packets that a probe is to keep.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Counters, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use task::query::Condition;

/// The next packets of some flows are to be written to a file at the probe. It captures each name once, as long as lists have it; one
/// that is no longer in a list ends early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureTask {
    /// The task's name: that of the event. Letters, digits, `-`, `_` and `.` are possible.
    pub id: String,
    /// The query that asks for the capture.
    pub query: String,
    /// The condition on members of the flow key of the packets to keep. Without one the packets of all flows are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Condition>,
    /// The number of packets to keep.
    pub packets: u64,
    /// The stream time in which packets count; `None` from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

/// A capture that has ended, or that the probe refuses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Captured {
    /// The name of the task.
    pub id: String,
    /// The query.
    pub query: String,
    /// The reason why there is no capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The file at the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The number of packets in the file.
    #[serde(default)]
    pub packets: u64,
    /// The length of the file, bytes.
    #[serde(default)]
    pub bytes: u64,
    /// The reason why the capture has ended: `packets`, `time`, `bytes`, `cancelled`, `run_end`, `fault`.
    #[serde(default)]
    pub ended_by: String,
    /// The number of packets that are not in the file, by cause.
    #[serde(default)]
    pub dropped: Counters,
    /// True if at least one packet is not there as a whole.
    #[serde(default)]
    pub is_cut: bool,
    /// The file, unless it is too large to be sent along; in base 64.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "in_base_64")]
    pub content: Option<Vec<u8>>,
}

/// Bytes as a text.
mod in_base_64 {
    use super::*;

    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| STANDARD.decode(text)).transpose().map_err(de::Error::custom)
    }
}
