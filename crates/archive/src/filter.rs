//! What is asked for.

use model::EventKind;

/// Which answers are asked for: of all that pass, the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFilter {
    /// Of this query.
    pub query: Option<String>,
    /// Of this node.
    pub node: Option<String>,
    /// Of windows that end after this time, nanoseconds since the epoch. No answer of a whole run passes.
    pub since_ns: Option<u64>,
    /// Of windows that begin before this time. No answer of a whole run passes.
    pub until_ns: Option<u64>,
    /// The largest number of results.
    pub limit: u64,
}

/// Which events are asked for: of all that pass, the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this query.
    pub query: Option<String>,
    /// Of this node.
    pub node: Option<String>,
    /// Of this kind.
    pub kind: Option<EventKind>,
    /// At this time or later, nanoseconds since the epoch.
    pub since_ns: Option<u64>,
    /// Before this time.
    pub until_ns: Option<u64>,
    /// The largest number of results.
    pub limit: u64,
}

/// Which captures are asked for: of all that pass, the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFilter {
    /// Of this event.
    pub event: Option<String>,
    /// Of the events of this story that are kept.
    pub story: Option<String>,
    /// The largest number of results.
    pub limit: u64,
}

impl Default for CaptureFilter {
    fn default() -> Self {
        Self { event: None, story: None, limit: 100 }
    }
}

impl Default for AnswerFilter {
    fn default() -> Self {
        Self { query: None, node: None, since_ns: None, until_ns: None, limit: 100 }
    }
}

impl Default for EventFilter {
    fn default() -> Self {
        Self { query: None, node: None, kind: None, since_ns: None, until_ns: None, limit: 100 }
    }
}
