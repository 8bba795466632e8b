//! Queries: which there are, installing and removing them.

use super::owner::{Terms, carry_out};
use super::{App, name};
use crate::body;
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::request::Request;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;

/// The longest time that a controller may take for a request.
const TIMEOUT: Duration = Duration::from_secs(30);
const MOST_NAME: usize = 255;
/// The file of queries that come without one.
const UNNAMED: &str = "query";

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    Ok(json_response(StatusCode::OK, app.hub.queries()?))
}

pub(super) async fn install(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiFailure> {
    let parameters = Parameters::read(&uri, &["file", "replace"])?;
    let (file, replaces) = (file_name(&parameters)?, parameters.flag("replace")?);
    let text = body::read_text(&headers, body, app.body_time).await?;
    let request = |reply| Request::Install { file, text, replaces, reply };
    let installed = carry_out(&app, terms(), request).await?;
    Ok(json_response(StatusCode::CREATED, serde_json::to_vec(&installed)?))
}

/// The name of the file whose queries a request has.
pub(super) fn file_name(parameters: &Parameters<'_>) -> Result<String, ApiFailure> {
    let file = parameters.text("file").unwrap_or(UNNAMED);
    if file.len() > MOST_NAME || file.contains('/') || file.contains(char::is_control) {
        return Err(ApiFailure::bad("file: a name has no /, no control characters and at most 255 bytes"));
    }
    Ok(file.to_owned())
}

pub(super) async fn remove(
    State(app): State<Arc<App>>,
    query: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let name = name(query)?;
    let removed = carry_out(&app, terms(), |reply| Request::Remove { name, reply }).await?;
    Ok(json_response(StatusCode::OK, serde_json::to_vec(&removed)?))
}

/// Returns the terms of changes of queries: nodes are not waited for.
fn terms() -> Terms {
    Terms {
        timeout: TIMEOUT,
        of_run: "queries of a run stay as they are: give them with -f, or use a controller",
        late: " and may still do it: look at /api/v1/queries",
    }
}
