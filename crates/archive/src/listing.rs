//! Results of questions to an archive.

use crate::{Acknowledgement, Silence};
use model::{Capture, Event, Story};

/// The items that were found, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// The newest items, as many as were asked for.
    pub items: Vec<T>,
    /// True if there are fewer items than were asked for because they fill the memory that a result may take.
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
    /// The time at which the story began, nanoseconds since the epoch; `None` if the archive never had the event.
    pub at_ns: Option<u64>,
    /// The query that fired.
    pub query: Option<String>,
    /// The node that the query fired on; `None` also for answers across nodes.
    pub node: Option<String>,
    /// The acknowledgement of the story.
    pub acknowledgement: Option<Acknowledgement>,
    /// The silence of the story, or of one that began as it did.
    pub silence: Option<Silence>,
}

/// The state of the file of a capture in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureFileState {
    /// A file that is in the archive.
    Kept,
    /// A capture that never had a file.
    None,
    /// A file that is larger than what is sent along and stored: the node alone has it.
    TooLarge,
    /// A file that was in the archive, and made room for others.
    Dropped,
}

/// A capture, and what else is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCapture {
    /// The capture.
    pub capture: Capture,
    /// The time at which the capture's event happened, nanoseconds since the epoch; `None` if the event is not kept.
    pub at_ns: Option<u64>,
    /// The identifier of the story that the capture's event is part of.
    pub story: Option<String>,
    /// The state of the capture's file.
    pub content: CaptureFileState,
}
