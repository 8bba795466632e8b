//! Texts of queries: what is wrong in one, what one costs, and the words that it may have.

use super::queries::file_name;
use super::{App, on_a_thread};
use crate::body;
use crate::checking::Checking;
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::request::RequestRefusal;
use crate::responses::{Checked, LanguageView};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use equery::{QueryItems, SourceText};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Texts that wait to be checked: one is checked at a time, so that threads are left for answers.
const MOST_WAITING: usize = 16;
/// Queries of a text that are explained. Explaining writes much more than it reads.
const MOST_EXPLAINED: usize = 100;

/// The turns of texts that are to be checked.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    waiting: Arc<Semaphore>,
    checking: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { waiting: Arc::new(Semaphore::new(MOST_WAITING)), checking: Arc::new(Semaphore::new(1)) }
    }
}

pub(super) async fn check(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiFailure> {
    let parameters = Parameters::read(&uri, &["file", "replace"])?;
    let (file, replaces) = (file_name(&parameters)?, parameters.flag("replace")?);
    let text = body::read_text(&headers, body, app.body_time).await?;
    let busy =
        |_| RequestRefusal::Busy(format!("{MOST_WAITING} texts wait to be checked: ask again in a moment"));
    let waiting = Arc::clone(&app.turns.waiting).try_acquire_owned().map_err(busy)?;
    let turn = Arc::clone(&app.turns.checking)
        .acquire_owned()
        .await
        .map_err(|_| ApiFailure::internal("this failed: its standard error says where"))?;
    drop(waiting);
    let checking = app.hub.checking();
    let work = move || {
        let written = written(&checking, &file, &text, replaces);
        // Not before: a client that has left does not end the work.
        drop(turn);
        Ok(written?)
    };
    Ok(json_response(StatusCode::OK, on_a_thread(work).await?))
}

fn written(checking: &Checking, file: &str, text: &str, replaces: bool) -> serde_json::Result<Vec<u8>> {
    let mut checked = equery::check(&SourceText { name: file, text }, &checking.options);
    let queries = checked.queries.iter().map(QueryItems::from_query).collect();
    let has_errors = checked.has_errors();
    let refused = if has_errors { Vec::new() } else { checking.refusals(file, text, replaces) };
    let unexplained = if has_errors { 0 } else { checked.queries.len().saturating_sub(MOST_EXPLAINED) };
    checked.queries.truncate(MOST_EXPLAINED);
    let explanation = (!has_errors).then(|| equery::explain(&checked, &checking.explain));
    serde_json::to_vec(&Checked {
        file,
        diagnostics: &checked.diagnostics,
        queries,
        refused,
        explanation,
        unexplained,
    })
}

pub(super) async fn language(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let checking = app.hub.checking();
    let options = &checking.options;
    let words = LanguageView {
        language: equery::language(),
        nodes: options.known_nodes.as_deref().unwrap_or_default(),
        queries: &options.continuous,
        variables: options.set.iter().map(|(name, _)| name.as_str()).collect(),
    };
    Ok(json_response(StatusCode::OK, serde_json::to_vec(&words)?))
}
