//! What is at which address.

mod answers;
mod captures;
mod csv;
mod events;
mod queries;
mod state;
mod stories;
mod stream;

use crate::address::PREFIX;
use crate::failure::Failure;
use crate::{Hub, Request, assets, guard};
use archive::{Archive, ArchiveError};
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, delete, get};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use tokio::sync::watch;

/// The largest text of queries, bytes.
const MOST_BODY: usize = 1 << 20;

/// What requests need.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) hub: Hub,
    /// Where requests that change something go; `None` where nothing can be changed.
    pub(crate) requests: Option<Sender<Request>>,
    /// True once the server stops.
    pub(crate) stops: watch::Receiver<bool>,
}

/// All addresses. What `openapi.json` says is held against it.
pub(crate) fn routes() -> Vec<(&'static str, MethodRouter<Arc<App>>)> {
    vec![
        ("/status", get(state::status)),
        ("/nodes", get(state::nodes)),
        ("/queries", get(queries::list).post(queries::install)),
        ("/queries/{name}", delete(queries::remove)),
        ("/answers", get(answers::list)),
        ("/events", get(events::list)),
        ("/captures", get(captures::list)),
        ("/captures/{event}/{node}", get(captures::one)),
        ("/stories", get(stories::list)),
        ("/stories/{id}", get(stories::one)),
        ("/stream", get(stream::follow)),
        ("/openapi.json", get(state::description)),
    ]
}

/// Everything that is served.
pub(crate) fn router(app: App) -> Router {
    let mut router = Router::new();
    for (path, methods) in routes() {
        router = router.route(&format!("{PREFIX}{path}"), methods);
    }
    router
        .method_not_allowed_fallback(not_allowed)
        .fallback(assets::serve)
        .layer(DefaultBodyLimit::max(MOST_BODY))
        .layer(from_fn(guard::guard))
        .with_state(Arc::new(app))
}

async fn not_allowed(method: Method, uri: Uri) -> Failure {
    let error = format!("{method} does not go with {}: /api/v1/openapi.json has what does", uri.path());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, error)
}

/// Asks the archive on a thread of its own, and writes what it says: either may take long, and streams do not wait. The archive is
/// free again before it is written.
async fn ask<T, W: Send + 'static>(
    app: &Arc<App>,
    question: impl FnOnce(&Archive) -> Result<T, ArchiveError> + Send + 'static,
    write: impl FnOnce(T) -> Result<W, Failure> + Send + 'static,
) -> Result<W, Failure> {
    let app = Arc::clone(app);
    let work = move || {
        let answer = question(&app.hub.archive())?;
        write(answer)
    };
    let lost = |_| Failure::internal("this failed: its standard error says where");
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

/// The last part of an address.
fn name(part: Result<Path<String>, PathRejection>) -> Result<String, Failure> {
    match part {
        Ok(Path(name)) => Ok(name),
        Err(_) => Err(Failure::bad("the last part of the address is not UTF-8: write it percent-encoded")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_address_is_described() {
        let description: serde_json::Value =
            serde_json::from_str(include_str!("../openapi.json")).expect("JSON");
        let described = description["paths"].as_object().expect("paths").keys().map(String::as_str);
        let served = routes().into_iter().map(|(path, _)| path);
        assert_eq!(described.collect::<BTreeSet<_>>(), served.collect::<BTreeSet<_>>());
        assert_eq!(description["servers"][0]["url"], PREFIX);
    }
}
