//! Who has seen a story.

use super::stories::unknown;
use super::{App, name};
use crate::access::Identity;
use crate::body;
use crate::failure::{Failure, json_response};
use crate::hub::now_ns;
use crate::parameters::Parameters;
use archive::Acknowledgement;
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::json;
use std::sync::Arc;

/// The longest note, bytes.
const MOST_NOTE: usize = 1_000;

/// Says that he who asks has seen the story, and `events` of its events.
pub(super) async fn set(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let parameters = Parameters::read(&uri, &["events"])?;
    let seen = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is no number of events"));
    let events = parameters.read_as("events", seen)?.unwrap_or(u64::MAX);
    let id = name(id)?;
    let note = body::read_text(&headers, body, app.body_time).await?;
    let note = note.trim();
    if note.len() > MOST_NOTE || note.contains(|letter: char| letter.is_control() && letter != '\n') {
        let error =
            format!("a note has at most {MOST_NOTE} bytes, and no control characters but line breaks");
        return Err(Failure::bad(error));
    }
    let acknowledgement =
        Acknowledgement { at_ns: now_ns(), by: identity.name, note: note.to_owned(), events };
    change(&app, id, Some(acknowledgement)).await
}

/// Says that nobody has.
pub(super) async fn withdraw(
    State(app): State<Arc<App>>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, Failure> {
    Parameters::read(&uri, &[])?;
    change(&app, name(id)?, None).await
}

/// Stores it on a thread of its own: the disk may take long, and streams do not wait.
async fn change(app: &Arc<App>, id: String, by: Option<Acknowledgement>) -> Result<Response, Failure> {
    let hub = app.hub.clone();
    let work = move || {
        let story = hub.acknowledge(&id, by)?.ok_or_else(|| unknown(&id))?;
        let acknowledged = hub.archive().acknowledgement(&story.id)?;
        Ok::<_, Failure>(json!({ "story": story.id, "acknowledged": acknowledged }).to_string())
    };
    let lost = |_| Failure::internal("this failed: its standard error says where");
    Ok(json_response(StatusCode::OK, tokio::task::spawn_blocking(work).await.map_err(lost)??))
}
