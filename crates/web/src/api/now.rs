//! The traffic of the last hours, and what of it is unusual.

use super::{App, on_a_thread};
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::view::now::RankingBy;
use overview::{NowAsked, Overview, OverviewError};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// The times that may be asked about.
const LAST: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(3_600);
/// The numbers of rows that a ranking may have.
const ROWS: RangeInclusive<u64> = 1..=50;

pub(super) async fn show(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let asked = asked(&uri)?;
    let overview = kept(&app)?;
    // Joining the steps of many nodes takes long, and streams do not wait.
    let body = on_a_thread(move || Ok(serde_json::to_vec(&overview.now(&asked).map_err(unknown)?)?)).await?;
    Ok(json_response(StatusCode::OK, body))
}

pub(super) async fn unusual(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let node = Parameters::read(&uri, &["node"])?.text("node").map(str::to_owned);
    let overview = kept(&app)?;
    let ask = move || Ok(serde_json::to_vec(&overview.unusual(node.as_deref()).map_err(unknown)?)?);
    Ok(json_response(StatusCode::OK, on_a_thread(ask).await?))
}

/// Returns what is kept of the last hours.
fn kept(app: &App) -> Result<Overview, ApiFailure> {
    app.hub.overview().ok_or_else(|| {
        ApiFailure::new(
            StatusCode::NOT_FOUND,
            "nothing is kept of the last hours here: a run with --web keeps it",
        )
    })
}

fn unknown(error: OverviewError) -> ApiFailure {
    ApiFailure::new(StatusCode::NOT_FOUND, error.to_string())
}

/// Returns what the parameters ask.
fn asked(uri: &Uri) -> Result<NowAsked, ApiFailure> {
    let parameters = Parameters::read(uri, &["last", "by", "node", "top"])?;
    let usual = NowAsked::default();
    let last = parameters.duration("last")?;
    if last.is_some_and(|last| !LAST.contains(&last)) {
        return Err(ApiFailure::bad("last: it is 1min at least and 1h at most"));
    }
    let top = parameters.read_as("top", notation::count)?;
    if top.is_some_and(|top| !ROWS.contains(&top)) {
        return Err(ApiFailure::bad(format!(
            "top: it is {} at least and {} at most",
            ROWS.start(),
            ROWS.end()
        )));
    }
    Ok(NowAsked {
        last_ns: last.map_or(usual.last_ns, |last| u64::try_from(last.as_nanos()).unwrap_or(u64::MAX)),
        by: parameters.text("by").map(by).transpose()?,
        node: parameters.text("node").map(str::to_owned),
        top: top.map_or(usual.top, |top| usize::try_from(top).unwrap_or(usize::MAX)),
    })
}

fn by(text: &str) -> Result<RankingBy, ApiFailure> {
    let known = RankingBy::ALL.into_iter().find(|by| by.name() == text);
    known.ok_or_else(|| {
        let names = RankingBy::ALL.map(RankingBy::name).join(", ");
        ApiFailure::bad(format!("by: {text:?} is none of {names}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<NowAsked, String> {
        let uri: Uri = format!("/api/v1/now?{query}").parse().expect("an address");
        asked(&uri).map_err(|failure| failure.error)
    }

    #[test]
    fn parameters_are_read_and_refused_in_one_line() {
        let asked = read("last=10min&by=port&node=eth0&top=3").expect("all of them");
        assert_eq!((asked.last_ns, asked.by, asked.top), (600_000_000_000, Some(RankingBy::Port), 3));
        assert_eq!(
            (asked.node.as_deref(), read("by=").expect("nothing")),
            (Some("eth0"), NowAsked::default())
        );
        for (query, begin) in [
            ("last=30s", "last: it is 1min"),
            ("last=2h", "last: it is 1min"),
            ("last=x", "last: "),
            ("by=host", "by: \"host\" is none of source,"),
            ("top=0", "top: it is 1 at least"),
            ("top=51", "top: it is 1 at least"),
            ("nod=a", "nod: there is no such parameter, did you mean node?"),
        ] {
            let error = read(query).expect_err(query);
            assert!(error.starts_with(begin) && !error.contains('\n'), "{query}: {error}");
        }
    }
}
