//! Dry runs: queries over what the stores of nodes remember, as if they had run then.

use super::owner::{Terms, carry_out};
use super::queries::file_name;
use super::{App, on_a_thread};
use crate::body;
use crate::failure::{ApiFailure, json_response};
use crate::hub::now_ns;
use crate::parameters::Parameters;
use crate::request::{DryRunAsked, Request};
use crate::responses::DryRun;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use model::Span;
use std::sync::Arc;
use std::time::Duration;

/// The time that a dry run may take where a client does not say it, and the longest.
const DEFAULT_TIME: Duration = Duration::from_secs(60);
const MOST_TIME: Duration = Duration::from_secs(600);
/// The time that the owner of the hub may take beyond the dry run.
const MORE: Duration = Duration::from_secs(30);
/// The time that is played where a client does not say it, nanoseconds.
const DEFAULT_PERIOD_NS: u64 = 3_600_000_000_000;

pub(super) async fn play(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiFailure> {
    let asked = asked(&uri)?;
    let text = body::read_text(&headers, body, app.body_time).await?;
    let asked = DryRunAsked { text, ..asked };
    let period = asked.period;
    let terms = Terms {
        timeout: asked.time.saturating_add(MORE),
        of_run: "a run without a store remembers nothing to play: give it --store DIR",
        late: ": ask again, for a shorter time",
    };
    let played = carry_out(&app, terms, |reply| Request::DryRun { asked, reply }).await?;
    let write = move || Ok(serde_json::to_vec(&DryRun::new(period, &played))?);
    Ok(json_response(StatusCode::OK, on_a_thread(write).await?))
}

/// Returns what the parameters ask.
fn asked(uri: &Uri) -> Result<DryRunAsked, ApiFailure> {
    let parameters = Parameters::read(uri, &["file", "from", "to", "memory", "time"])?;
    let time = parameters.duration("time")?.unwrap_or(DEFAULT_TIME);
    if time.is_zero() || time > MOST_TIME {
        return Err(ApiFailure::bad("time: a dry run has 10min at most, and more than nothing"));
    }
    let end_ns = parameters.time_or_ago("to")?.unwrap_or_else(now_ns);
    let start_ns =
        parameters.time_or_ago("from")?.unwrap_or_else(|| end_ns.saturating_sub(DEFAULT_PERIOD_NS));
    if start_ns >= end_ns {
        return Err(ApiFailure::bad("from: it is not before the end of the time that is played"));
    }
    Ok(DryRunAsked {
        file: file_name(&parameters)?,
        text: String::new(),
        period: Span { start_ns, end_ns },
        memory_bytes: parameters.read_as("memory", notation::bytes)?,
        time,
    })
}
