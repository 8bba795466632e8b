//! What is stored, and how much of it.

use report::{Answer, Event, Story};

/// Most of each that is kept; what was stored first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Answers.
    pub answers: u64,
    /// Events, and likewise stories.
    pub events: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self { answers: 1_000_000, events: 100_000 }
    }
}

/// What is stored in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Answers. One of the same query, node, window and revision is replaced.
    pub answers: Vec<Answer>,
    /// Events. One of the same identifier is replaced.
    pub events: Vec<Event>,
    /// Stories. One of the same identifier is replaced. The events of a story are stored with it or before it.
    pub stories: Vec<Story>,
    /// Names and texts of state. One of the same name is replaced.
    pub states: Vec<(String, String)>,
    /// Names of state that is not needed any more.
    pub dropped_states: Vec<String>,
    /// Messages of probes from which all this follows. A mark never goes back.
    pub marks: Vec<Mark>,
}

/// The last message of a boot of a probe that is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The probe.
    pub node: String,
    /// Its boot.
    pub boot: String,
    /// The number of the message.
    pub sequence: u64,
}
