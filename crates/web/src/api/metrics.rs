//! `GET /metrics`, at the root, where Prometheus looks for it.

use super::{App, on_a_thread};
use crate::failure::ApiFailure;
use crate::metrics;
use crate::parameters::Parameters;
use axum::extract::State;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

pub(super) async fn write(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let hub = app.hub.clone();
    let text = on_a_thread(move || Ok(metrics::render(&hub))).await?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE))], text).into_response())
}
