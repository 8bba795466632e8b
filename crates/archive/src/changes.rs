//! Changes of an archive, and limits of what it keeps.

use model::{Answer, Capture, Event, Story};

/// The greatest number of each kind that is kept; what was stored first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveRetention {
    /// The number of answers.
    pub answers: u64,
    /// The number of events, and likewise of stories.
    pub events: u64,
    /// The number of captures.
    pub captures: u64,
    /// The bytes of all files of captures together. Those beyond are dropped; what is known of their captures stays.
    pub capture_bytes: u64,
}

impl Default for ArchiveRetention {
    fn default() -> Self {
        Self { answers: 1_000_000, events: 100_000, captures: 1_000, capture_bytes: 64 << 20 }
    }
}

/// The changes that are stored in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArchiveChanges {
    /// The answers. One of the same query, node, pinned values, window and revision is replaced.
    pub answers: Vec<Answer>,
    /// The events. One of the same identifier is replaced.
    pub events: Vec<Event>,
    /// The stories. One of the same identifier is replaced. The events of a story are stored with it or before it.
    pub stories: Vec<Story>,
    /// The captures that have ended. One of the same event and node is replaced.
    pub captures: Vec<EndedCapture>,
    /// The names and texts of state. One of the same name is replaced.
    pub states: Vec<(String, String)>,
    /// The names of state that is not needed any more.
    pub dropped_states: Vec<String>,
    /// The marks of the messages of probes from which all this follows. A mark never goes back.
    pub marks: Vec<ProbeOffset>,
}

/// A capture that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedCapture {
    /// The capture, as it has ended.
    pub capture: Capture,
    /// The file, where the node sent it along. One of more than [`MOST_CONTENT`] bytes is not stored.
    pub content: Option<Vec<u8>>,
}

/// The largest file of a capture that is stored, bytes.
pub const MOST_CONTENT: usize = 1 << 20;

/// The last message of a boot of a probe that is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeOffset {
    /// The probe.
    pub node: String,
    /// The boot of the probe.
    pub boot: String,
    /// The number of the message.
    pub sequence: u64,
}
