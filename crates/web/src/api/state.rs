//! The state of the whole.

use super::App;
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use std::sync::Arc;

/// The interface in the terms of OpenAPI 3.1.
const DESCRIPTION: &str = include_str!("../../openapi.json");

pub(super) async fn status(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    Ok(json_response(StatusCode::OK, serde_json::to_vec(&app.hub.status())?))
}

pub(super) async fn description() -> Response {
    json_response(StatusCode::OK, Bytes::from_static(DESCRIPTION.as_bytes()))
}
