//! Filters of answers, events and captures that are asked for.

use model::EventKind;

/// A filter of answers: of all that pass, the newest are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFilter {
    /// The query whose answers pass.
    pub query: Option<String>,
    /// The node whose answers pass.
    pub node: Option<String>,
    /// The time after which windows end whose answers pass, nanoseconds since the epoch. No answer of a whole run passes.
    pub since_ns: Option<u64>,
    /// The time before which windows begin whose answers pass. No answer of a whole run passes.
    pub until_ns: Option<u64>,
    /// The largest number of results.
    pub limit: u64,
}

/// A filter of events: of all that pass, the newest are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFilter {
    /// The query whose events pass.
    pub query: Option<String>,
    /// The node whose events pass.
    pub node: Option<String>,
    /// The kind of events that pass.
    pub kind: Option<EventKind>,
    /// The first time of events that pass, nanoseconds since the epoch.
    pub since_ns: Option<u64>,
    /// The time before which events pass.
    pub until_ns: Option<u64>,
    /// The largest number of results.
    pub limit: u64,
}

/// A filter of captures: of all that pass, the newest are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFilter {
    /// The event whose captures pass.
    pub event: Option<String>,
    /// The story whose events' captures pass, as far as the events are kept.
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
