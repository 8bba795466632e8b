//! Acknowledgements of stories.

use super::stories::unknown;
use super::{App, name, note, on_a_thread};
use crate::access::Identity;
use crate::failure::{ApiFailure, json_response};
use crate::hub::now_ns;
use crate::parameters::Parameters;
use crate::responses::Acknowledged;
use archive::Acknowledgement;
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use std::sync::Arc;

/// Acknowledges a story up to `events` of its events, in the name of the client.
pub(super) async fn set(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiFailure> {
    let parameters = Parameters::read(&uri, &["events"])?;
    let seen = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is no number of events"));
    let events = parameters.read_as("events", seen)?.unwrap_or(u64::MAX);
    let id = name(id)?;
    let note = note::read(&app, &headers, body).await?;
    let acknowledgement = Acknowledgement { at_ns: now_ns(), by: identity.name, note, events };
    change(&app, id, Some(acknowledgement)).await
}

/// Removes an acknowledgement.
pub(super) async fn withdraw(
    State(app): State<Arc<App>>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    change(&app, name(id)?, None).await
}

/// Replaces the acknowledgement of a story; `None` removes it.
async fn change(
    app: &Arc<App>,
    id: String,
    acknowledgement: Option<Acknowledgement>,
) -> Result<Response, ApiFailure> {
    let hub = app.hub.clone();
    let work = move || {
        let (story, acknowledged) = hub.acknowledge(&id, acknowledgement)?.ok_or_else(|| unknown(&id))?;
        Ok(serde_json::to_vec(&Acknowledged { story, acknowledged })?)
    };
    Ok(json_response(StatusCode::OK, on_a_thread(work).await?))
}
