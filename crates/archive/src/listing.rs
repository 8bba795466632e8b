//! What is found.

use crate::Acknowledgement;
use model::{Capture, Event, Story};

/// What was found, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// As many of the newest as were asked for.
    pub items: Vec<T>,
    /// There are fewer than were asked for because those that there are fill the memory that a result may take.
    pub is_cut: bool,
}

/// An event and the story that it is part of.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// The event.
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
    /// Its acknowledgement.
    pub acknowledgement: Option<Acknowledgement>,
}

/// Whether the file of a capture is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// It is.
    Kept,
    /// There never was one.
    None,
    /// It is larger than what is sent along and stored: the node alone has it.
    TooLarge,
    /// It was, and made room for others.
    Dropped,
}

/// A capture, and what else is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCapture {
    /// The capture.
    pub capture: Capture,
    /// When its event happened, nanoseconds since the epoch; `None` if the event is not kept.
    pub at_ns: Option<u64>,
    /// The identifier of the story that its event is part of.
    pub story: Option<String>,
    /// Whether its file is here.
    pub content: Content,
}
