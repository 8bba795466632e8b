//! Events.

use super::{App, ask};
use crate::failure::{ApiFailure, json_response};
use crate::message::event_view;
use crate::parameters::Parameters;
use crate::responses::Events;
use archive::{Listing, StoredEvent};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use std::sync::Arc;

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let parameters = Parameters::read(&uri, &["query", "node", "kind", "since", "until", "limit"])?;
    let filter = parameters.event_filter()?;
    let write = |listing: Listing<StoredEvent>| {
        let events = listing.items.into_iter().map(event_view).collect();
        Ok(serde_json::to_vec(&Events { events })?)
    };
    let body = ask(&app, move |archive| archive.events(&filter), write).await?;
    Ok(json_response(StatusCode::OK, body))
}
