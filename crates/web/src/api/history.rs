//! Questions about what the stores of nodes remember.

use super::owner::{Terms, carry_out};
use super::{App, on_a_thread};
use crate::body;
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::request::{HistoryAsked, Request};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;

/// The time that nodes may take where a client does not say it, and the longest.
const DEFAULT_TIME: Duration = Duration::from_secs(30);
const MOST_TIME: Duration = Duration::from_secs(600);
/// The time that the controller may take beyond the nodes.
const MORE: Duration = Duration::from_secs(30);
/// Rows of the rankings of a question without a text.
const DEFAULT_TOP: usize = 10;

pub(super) async fn ask(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Result<Response, ApiFailure> {
    let asked = asked(&uri)?;
    let text = body::read_text(&headers, body, app.body_time).await?;
    let asked = HistoryAsked { text, ..asked };
    let terms = Terms {
        timeout: asked.time.saturating_add(MORE),
        of_run: "a run answers no questions about history: edison query --store DIR asks its store",
        late: ": ask again",
    };
    let answered = carry_out(&app, terms, |reply| Request::History { asked, reply }).await?;
    // Writing much takes long, and streams do not wait.
    let write = move || Ok(serde_json::to_vec(&answered)?);
    Ok(json_response(StatusCode::OK, on_a_thread(write).await?))
}

/// Returns what the parameters ask.
fn asked(uri: &Uri) -> Result<HistoryAsked, ApiFailure> {
    let names = ["nodes", "from", "to", "per", "top", "memory", "time"];
    let parameters = Parameters::read(uri, &names)?;
    let time = parameters.duration("time")?.unwrap_or(DEFAULT_TIME);
    if time.is_zero() || time > MOST_TIME {
        return Err(ApiFailure::bad("time: nodes have 10min at most, and more than nothing"));
    }
    let nodes = parameters.text("nodes").map(|names| names.split(',').map(|name| name.trim().to_owned()));
    let per = parameters.duration("per")?;
    let memory = parameters.read_as("memory", notation::bytes)?;
    let top = parameters.read_as("top", notation::count)?;
    Ok(HistoryAsked {
        text: String::new(),
        nodes: nodes.map(Iterator::collect).unwrap_or_default(),
        from_ns: parameters.time_or_ago("from")?,
        to_ns: parameters.time_or_ago("to")?,
        every_ns: per.map(|per| u64::try_from(per.as_nanos()).unwrap_or(u64::MAX)),
        top: top.map_or(DEFAULT_TOP, |top| usize::try_from(top).unwrap_or(usize::MAX)),
        memory_bytes: memory,
        time,
    })
}
