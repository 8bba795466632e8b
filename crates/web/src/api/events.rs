//! Events.

use super::{App, ask};
use crate::failure::{Failure, json_response};
use crate::parameters::Parameters;
use archive::{Listing, StoredEvent};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
struct Events {
    events: Vec<StoredEvent>,
}

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Failure> {
    let parameters = Parameters::read(&uri, &["query", "node", "kind", "since", "until", "limit"])?;
    let filter = parameters.event_filter()?;
    let write = |listing: Listing<StoredEvent>| Ok(serde_json::to_vec(&Events { events: listing.items })?);
    let body = ask(&app, move |archive| archive.events(&filter), write).await?;
    Ok(json_response(StatusCode::OK, body))
}
