//! What is found.

use report::{Event, Story};
use serde::Serialize;

/// What was found, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// As many of the newest as were asked for.
    pub items: Vec<T>,
    /// There are fewer than were asked for because those that there are fill the memory that a result may take.
    pub is_cut: bool,
}

/// An event and the story that it is part of. JSON: the event with the member `story`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredEvent {
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// The identifier of the story; `None` if it is part of none.
    pub story: Option<String>,
}

/// A story, and what is known of the event that it began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryEntry {
    /// The story.
    pub story: Story,
    /// When it began, nanoseconds since the epoch; `None` if the archive never had the event.
    pub at_ns: Option<u64>,
    /// The query that fired.
    pub query: Option<String>,
    /// The node that it fired on; `None` also for answers across nodes.
    pub node: Option<String>,
}
