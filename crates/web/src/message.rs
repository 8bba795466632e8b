//! What is said of stories and events, and messages of streams.

use archive::StoredEvent;
use axum::body::Bytes;
use report::{Event, Story, integer};
use serde::Serialize;

/// A message of a stream of server-sent events. JSON has no line breaks, so it is one line of data.
pub(crate) fn message(name: &str, data: &impl Serialize) -> serde_json::Result<Bytes> {
    let data = serde_json::to_string(data)?;
    Ok(Bytes::from(format!("event: {name}\ndata: {data}\n\n")))
}

/// A story, with events or their identifiers.
#[derive(Serialize)]
pub(crate) struct StoryText<'a, E> {
    id: &'a str,
    text: &'a str,
    events: &'a [E],
    #[serde(with = "integer")]
    events_unlisted: u64,
}

impl<'a> StoryText<'a, String> {
    /// With the identifiers of its events.
    pub(crate) fn with_names(story: &'a Story) -> Self {
        let Story { id, text, events, events_unlisted } = story;
        Self { id, text, events, events_unlisted: *events_unlisted }
    }
}

impl<'a> StoryText<'a, Event> {
    /// With those of its events that are still kept; the others are not listed.
    pub(crate) fn with_events(story: &'a Story, events: &'a [Event]) -> Self {
        let gone = story.events.len().saturating_sub(events.len()) as u64;
        let Story { id, text, events_unlisted, .. } = story;
        Self { id, text, events, events_unlisted: events_unlisted.saturating_add(gone) }
    }
}

/// An event, its story, and a sentence about it.
#[derive(Serialize)]
pub(crate) struct ToldEvent {
    #[serde(flatten)]
    event: StoredEvent,
    text: String,
}

impl From<StoredEvent> for ToldEvent {
    fn from(event: StoredEvent) -> Self {
        Self { text: events::sentence(&event.event), event }
    }
}

/// Messages that a stream missed.
#[derive(Serialize)]
pub(crate) struct Lagged {
    #[serde(with = "integer")]
    pub(crate) missed: u64,
}
