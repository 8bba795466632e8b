//! What is said of stories and events, and messages of streams.

use crate::capture::capture_view;
use archive::{Acknowledgement, StoredCapture, StoredEvent};
use axum::body::Bytes;
use model::view::{CaptureView, EventView};
use model::{Event, Integer, Story};
use serde::Serialize;

/// A message of a stream of server-sent events. JSON has no line breaks, so it is one line of data.
pub(crate) fn message(name: &str, data: &impl Serialize) -> serde_json::Result<Bytes> {
    let data = serde_json::to_string(data)?;
    Ok(Bytes::from(format!("event: {name}\ndata: {data}\n\n")))
}

/// A story, with events or their identifiers, perhaps with captures.
#[derive(Serialize)]
pub(crate) struct StoryText<'a, E> {
    id: &'a str,
    text: &'a str,
    events: &'a [E],
    #[serde(with = "Integer")]
    events_unlisted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    captures: Option<Vec<CaptureView>>,
    acknowledged: Option<Acknowledgement>,
}

impl<'a> StoryText<'a, String> {
    /// With the identifiers of its events.
    pub(crate) fn with_names(story: &'a Story, acknowledged: Option<Acknowledgement>) -> Self {
        let Story { id, text, events, events_unlisted } = story;
        Self { id, text, events, events_unlisted: *events_unlisted, captures: None, acknowledged }
    }
}

impl<'a> StoryText<'a, Event> {
    /// With those of its events that are still kept (the others are not listed), and their captures.
    pub(crate) fn whole(
        story: &'a Story,
        events: &'a [Event],
        captures: Vec<StoredCapture>,
        acknowledged: Option<Acknowledgement>,
    ) -> Self {
        let captures = Some(captures.into_iter().map(capture_view).collect());
        let gone = story.events.len().saturating_sub(events.len()) as u64;
        let Story { id, text, events_unlisted, .. } = story;
        Self {
            id,
            text,
            events,
            events_unlisted: events_unlisted.saturating_add(gone),
            captures,
            acknowledged,
        }
    }
}

/// An event as it is told.
pub(crate) fn event_view(StoredEvent { event, story }: StoredEvent) -> EventView {
    EventView { text: events::sentence(&event), event, story }
}

/// Messages that a stream missed.
#[derive(Serialize)]
pub(crate) struct Lagged {
    #[serde(with = "Integer")]
    pub(crate) missed: u64,
}
