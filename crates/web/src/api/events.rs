//! Events.

use super::{App, ask};
use crate::failure::{ApiFailure, json_response};
use crate::hub::now_ns;
use crate::message::event_view;
use crate::parameters::Parameters;
use crate::responses::Events;
use archive::{Archive, ArchiveError, Listing, StoredEvent};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use std::sync::Arc;

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let parameters = Parameters::read(&uri, &["query", "node", "kind", "since", "until", "limit"])?;
    let filter = parameters.event_filter()?;
    let question = move |archive: &Archive| {
        let Listing { items, .. } = archive.events(&filter)?;
        let now_ns = now_ns();
        let silent = |found: StoredEvent| Ok((archive.silent_until(&found.event, now_ns)?, found));
        items.into_iter().map(silent).collect::<Result<Vec<_>, ArchiveError>>()
    };
    let write = |found: Vec<(Option<u64>, StoredEvent)>| {
        let events = found.into_iter().map(|(until_ns, event)| event_view(event, until_ns)).collect();
        Ok(serde_json::to_vec(&Events { events })?)
    };
    let body = ask(&app, question, write).await?;
    Ok(json_response(StatusCode::OK, body))
}
