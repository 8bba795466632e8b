//! Events.

use super::{App, ask};
use crate::failure::{Failure, json_response};
use crate::parameters::Parameters;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use std::sync::Arc;

#[derive(serde::Serialize)]
struct Events {
    events: Vec<archive::StoredEvent>,
}

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Failure> {
    let parameters = Parameters::read(&uri, &["query", "node", "kind", "since", "until", "limit"])?;
    let filter = parameters.event_filter()?;
    let written = ask(&app, move |archive| {
        let events = archive.events(&filter)?.items;
        Ok(serde_json::to_vec(&Events { events }))
    });
    Ok(json_response(StatusCode::OK, written.await??))
}
