//! Stories.

use super::{App, ask};
use crate::failure::{Failure, json_response};
use crate::message::StoryText;
use crate::parameters::Parameters;
use archive::StoryEntry;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use report::rfc3339;
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
struct Stories {
    stories: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    id: String,
    text: String,
    #[serde(with = "rfc3339::option")]
    at: Option<u64>,
    query: Option<String>,
    node: Option<String>,
}

impl From<StoryEntry> for Entry {
    fn from(entry: StoryEntry) -> Self {
        let StoryEntry { story, at_ns, query, node } = entry;
        Self { id: story.id, text: story.text, at: at_ns, query, node }
    }
}

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Failure> {
    let limit = Parameters::read(&uri, &["limit"])?.limit()?;
    let written = ask(&app, move |archive| {
        let stories = archive.stories(limit)?.into_iter().map(Entry::from).collect();
        Ok(serde_json::to_vec(&Stories { stories }))
    });
    Ok(json_response(StatusCode::OK, written.await??))
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, Failure> {
    Parameters::read(&uri, &[])?;
    let id = super::name(id)?;
    let asked = id.clone();
    let written = ask(&app, move |archive| {
        let Some(story) = archive.story(&asked)? else { return Ok(None) };
        let events = archive.story_events(&story)?;
        Ok(Some(serde_json::to_vec(&StoryText::with_events(&story, &events))))
    });
    match written.await? {
        Some(body) => Ok(json_response(StatusCode::OK, body?)),
        None => {
            let error =
                format!("there is no story of the event {id:?}: /api/v1/stories has those that are kept");
            Err(Failure::new(StatusCode::NOT_FOUND, error))
        }
    }
}
