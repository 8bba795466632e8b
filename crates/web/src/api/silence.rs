//! Silences of stories.

use super::stories::unknown;
use super::{App, ask, name, note, on_a_thread};
use crate::access::Identity;
use crate::failure::{ApiFailure, json_response};
use crate::hub::now_ns;
use crate::parameters::Parameters;
use crate::responses::{ListedSilence, Silenced, Silences};
use archive::{Archive, ArchiveError, Silence, SilencedStory};
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use model::Story;
use std::sync::Arc;
use std::time::Duration;

/// The longest silence.
const MOST: Duration = Duration::from_secs(30 * 24 * 3_600);
const MOST_DAYS: u64 = MOST.as_secs() / (24 * 3_600);

/// Silences a story for a time, in the name of the client.
pub(super) async fn set(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiFailure> {
    let lasts = Parameters::read(&uri, &["for"])?.duration("for")?;
    let lasts = lasts.ok_or_else(|| ApiFailure::bad("for: how long is missing, as for=2h"))?;
    if lasts.is_zero() || lasts > MOST {
        return Err(ApiFailure::bad(format!(
            "for: a silence has {MOST_DAYS} days at most, and more than nothing"
        )));
    }
    let id = name(id)?;
    let note = note::read(&app, &headers, body).await?;
    let at_ns = now_ns();
    let until_ns = at_ns.saturating_add(u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX));
    change(&app, id, Some(Silence { at_ns, until_ns, by: identity.name, note, fired: 0 })).await
}

/// Ends a silence.
pub(super) async fn end(
    State(app): State<Arc<App>>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    change(&app, name(id)?, None).await
}

async fn change(app: &Arc<App>, id: String, silence: Option<Silence>) -> Result<Response, ApiFailure> {
    let hub = app.hub.clone();
    let work = move || {
        let (story, silence) = hub.silence(&id, silence)?.ok_or_else(|| unknown(&id))?;
        Ok(serde_json::to_vec(&Silenced { story, silence })?)
    };
    Ok(json_response(StatusCode::OK, on_a_thread(work).await?))
}

/// Lists silences.
pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let question = |archive: &Archive| {
        let own = archive.silences().iter();
        own.map(|own| Ok((own.clone(), archive.story(&own.story)?))).collect::<Result<Vec<_>, ArchiveError>>()
    };
    let write = |found: Vec<(SilencedStory, Option<Story>)>| {
        let now_ns = now_ns();
        let mut silences: Vec<ListedSilence> =
            found.into_iter().map(|(own, story)| ListedSilence::new(own, story, now_ns)).collect();
        silences.sort_by_key(|own| match own.holds {
            true => (0, own.silence.until_ns),
            false => (1, u64::MAX - own.silence.until_ns),
        });
        Ok(serde_json::to_vec(&Silences { silences })?)
    };
    Ok(json_response(StatusCode::OK, ask(&app, question, write).await?))
}
