//! Messages of streams, and events as they are told.

use archive::StoredEvent;
use axum::body::Bytes;
use model::view::EventView;
use serde::Serialize;

/// A message of a stream of server-sent events. JSON has no line breaks, so it is one line of data.
pub(crate) fn message(name: &str, data: &impl Serialize) -> serde_json::Result<Bytes> {
    let data = serde_json::to_string(data)?;
    Ok(Bytes::from(format!("event: {name}\ndata: {data}\n\n")))
}

/// An event as it is told.
pub(crate) fn event_view(
    StoredEvent { event, story }: StoredEvent,
    silenced_until: Option<u64>,
) -> EventView {
    EventView { text: events::sentence(&event), event, story, silenced_until }
}
