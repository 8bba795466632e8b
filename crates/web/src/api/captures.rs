//! Captures and their files.

use super::{App, ask};
use crate::access::Identity;
use crate::capture::{capture_view, file_name, why_not};
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::responses::Captures;
use archive::{CaptureFilter, StoredCapture};
use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let parameters = Parameters::read(&uri, &["event", "story", "limit"])?;
    let filter = CaptureFilter {
        event: parameters.text("event").map(str::to_owned),
        story: parameters.text("story").map(str::to_owned),
        limit: parameters.limit()?,
    };
    let write = |captures: Vec<StoredCapture>| {
        let captures = captures.into_iter().map(capture_view).collect();
        Ok(serde_json::to_vec(&Captures { captures })?)
    };
    let body = ask(&app, move |archive| archive.captures(&filter), write).await?;
    Ok(json_response(StatusCode::OK, body))
}

/// The file. Each one that is handed out is logged: it has packets of users.
pub(super) async fn one(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    place: Result<Path<(String, String)>, PathRejection>,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let Ok(Path((event, node))) = place else {
        return Err(ApiFailure::bad("the address is not UTF-8: write it percent-encoded"));
    };
    let name = file_name(&event, &node);
    let by = identity.name.map(|name| format!(" with the token {name}")).unwrap_or_default();
    let line = format!(
        "the packets that {} captured for the event {} were fetched{by}",
        node.escape_debug(),
        event.escape_debug()
    );
    let not_found = |error: String| ApiFailure::new(StatusCode::NOT_FOUND, error);
    let none = format!(
        "there is no capture of the event {event:?} on {node:?}: /api/v1/captures has those that are kept"
    );
    let write = move |found: Option<(StoredCapture, Vec<u8>)>| {
        let Some((stored, content)) = found else { return Err(not_found(none)) };
        match why_not(&stored) {
            // One line, whatever a probe says.
            Some(reason) => Err(not_found(format!("the file is not here: {}", reason.escape_debug()))),
            None => Ok(content),
        }
    };
    let content = ask(&app, move |archive| archive.capture(&event, &node), write).await?;
    app.hub.log(&line);
    let disposition = HeaderValue::try_from(format!("attachment; filename=\"{name}\""));
    let disposition = disposition.map_err(|_| ApiFailure::internal("the file has no name"))?;
    let kind = HeaderValue::from_static("application/vnd.tcpdump.pcap");
    let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, content).into_response())
}
