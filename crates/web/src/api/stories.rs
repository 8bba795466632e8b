//! Stories.

use super::{App, ask};
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::responses::{ListedStory, Stories, WholeStory};
use archive::{Acknowledgement, Archive, CaptureFilter, Silence, StoredCapture, StoryEntry};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::{Event, Story};
use std::sync::Arc;

/// Captures that are listed with a story, the newest.
const MOST_CAPTURES: u64 = 1_000;

/// A story, those of its events that are kept, their captures, its acknowledgement and its silence.
type StoryDetail = (Story, Vec<Event>, Vec<StoredCapture>, Option<Acknowledgement>, Option<Silence>);

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let limit = Parameters::read(&uri, &["limit"])?.limit()?;
    let write = |stories: Vec<StoryEntry>| {
        let stories = stories.into_iter().map(ListedStory::from).collect();
        Ok(serde_json::to_vec(&Stories { stories })?)
    };
    let body = ask(&app, move |archive| archive.stories(limit), write).await?;
    Ok(json_response(StatusCode::OK, body))
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let id = super::name(id)?;
    let asked = id.clone();
    let question = move |archive: &Archive| {
        let Some(story) = archive.story(&asked)? else { return Ok(None) };
        let events = archive.story_events(&story)?;
        let filter = CaptureFilter { story: Some(story.id.clone()), limit: MOST_CAPTURES, event: None };
        let captures = archive.captures(&filter)?;
        let acknowledged = archive.acknowledgement(&story.id)?;
        let silence = archive.silence_of(&story.id)?;
        Ok(Some((story, events, captures, acknowledged, silence)))
    };
    let write = move |found: Option<StoryDetail>| {
        let Some((story, events, captures, acknowledged, silence)) = found else { return Err(unknown(&id)) };
        Ok(serde_json::to_vec(&WholeStory::new(&story, &events, captures, acknowledged, silence))?)
    };
    Ok(json_response(StatusCode::OK, ask(&app, question, write).await?))
}

pub(super) fn unknown(id: &str) -> ApiFailure {
    let error = format!("there is no story of the event {id:?}: /api/v1/stories has those that are kept");
    ApiFailure::new(StatusCode::NOT_FOUND, error)
}
