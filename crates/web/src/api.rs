//! The addresses of the API, and what is at each.

mod acknowledgement;
mod answers;
mod captures;
mod change;
mod check;
mod csv;
mod dry_run;
mod events;
mod health;
mod history;
mod metrics;
mod nodes;
mod note;
mod now;
mod owner;
mod queries;
mod require;
mod session;
mod silence;
mod state;
mod stories;
mod stream;

use crate::access::{Access, Role};
use crate::address::PREFIX;
use crate::failure::ApiFailure;
use crate::guard::{Guard, guard};
use crate::{Hub, Request, assets};
use archive::{Archive, ArchiveError};
use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post, put};
pub(crate) use check::Turns;
use require::{Required, require};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::watch;

/// The state that requests need.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) hub: Hub,
    /// The destination of requests that change something; `None` where nothing can be changed.
    pub(crate) requests: Option<Sender<Request>>,
    /// True once the server stops.
    pub(crate) stops: watch::Receiver<bool>,
    /// The rules of access: who may ask for what.
    pub(crate) access: Arc<Access>,
    /// The longest time that the body of a request may take.
    pub(crate) body_time: Duration,
    pub(crate) turns: Turns,
}

/// The condition on who may come in.
enum Door {
    /// The door is open to who has at least this role.
    Needs(Role),
    /// The door is open to everybody: to leave, and to hear whether it is well.
    Open,
}

/// An address, what it does, and for whom.
struct Route(&'static str, Door, MethodRouter<Arc<App>>);

/// Returns the routes of all addresses. What `openapi.json` says is held against it.
fn routes() -> Vec<Route> {
    let view = |path, methods| Route(path, Door::Needs(Role::View), methods);
    let run = |path, methods| Route(path, Door::Needs(Role::Run), methods);
    vec![
        view("/status", get(state::status)),
        view("/nodes", get(nodes::list)),
        view("/now", get(now::show)),
        view("/unusual", get(now::unusual)),
        view("/queries", get(queries::list)),
        run("/queries", post(queries::install)),
        run("/queries/{name}", delete(queries::remove)),
        view("/check", post(check::check)),
        view("/language", get(check::language)),
        view("/answers", get(answers::list)),
        view("/history", post(history::ask)),
        view("/change", post(change::ask)),
        view("/dry-run", post(dry_run::play)),
        view("/events", get(events::list)),
        view("/captures", get(captures::list)),
        run("/captures/{event}/{node}", get(captures::one)),
        view("/stories", get(stories::list)),
        view("/stories/{id}", get(stories::one)),
        run("/stories/{id}/acknowledgement", put(acknowledgement::set).delete(acknowledgement::withdraw)),
        run("/stories/{id}/silence", put(silence::set).delete(silence::end)),
        view("/silences", get(silence::list)),
        view("/stream", get(stream::follow)),
        view("/session", get(session::show).post(session::begin)),
        Route("/session", Door::Open, delete(session::end)),
        view("/openapi.json", get(state::description)),
    ]
}

/// Everything that is served.
pub(crate) fn router(app: App, guarded: Guard) -> Router {
    let app = Arc::new(app);
    let mut router = Router::new();
    let of_api =
        routes().into_iter().map(|Route(path, door, methods)| (format!("{PREFIX}{path}"), door, methods));
    // Where Prometheus looks for it, and those who watch programs.
    let at_root = [
        ("/metrics".to_owned(), Door::Needs(Role::View), get(metrics::write)),
        ("/healthz".to_owned(), Door::Open, get(health::live)),
        ("/readyz".to_owned(), Door::Open, get(health::ready)),
    ];
    for (path, door, methods) in of_api.chain(at_root) {
        let methods = match door {
            Door::Open => methods,
            Door::Needs(role) => {
                let required = Required { app: Arc::clone(&app), role };
                methods.route_layer(from_fn_with_state(required, require))
            }
        };
        router = router.route(&path, methods);
    }
    router
        .method_not_allowed_fallback(not_allowed)
        .fallback(assets::serve)
        .layer(from_fn_with_state(guarded, guard))
        .with_state(app)
}

async fn not_allowed(method: Method, uri: Uri) -> ApiFailure {
    let error = format!("{method} does not go with {}: /api/v1/openapi.json has what does", uri.path());
    ApiFailure::new(StatusCode::METHOD_NOT_ALLOWED, error)
}

/// Asks the archive on a thread of its own, and writes what it says: either may take long, and streams do not wait. The archive is
/// free again before it is written.
async fn ask<T, W: Send + 'static>(
    app: &Arc<App>,
    question: impl FnOnce(&Archive) -> Result<T, ArchiveError> + Send + 'static,
    write: impl FnOnce(T) -> Result<W, ApiFailure> + Send + 'static,
) -> Result<W, ApiFailure> {
    let app = Arc::clone(app);
    let work = move || {
        let answer = question(&app.hub.archive())?;
        write(answer)
    };
    on_a_thread(work).await
}

/// Does what may take long on a thread of its own: streams do not wait for it.
async fn on_a_thread<W: Send + 'static>(
    work: impl FnOnce() -> Result<W, ApiFailure> + Send + 'static,
) -> Result<W, ApiFailure> {
    let lost = |_| ApiFailure::internal("this failed: its standard error says where");
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

/// The last part of an address.
fn name(part: Result<Path<String>, PathRejection>) -> Result<String, ApiFailure> {
    match part {
        Ok(Path(name)) => Ok(name),
        Err(_) => Err(ApiFailure::bad("the last part of the address is not UTF-8: write it percent-encoded")),
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
        let served = routes().into_iter().map(|Route(path, ..)| path);
        assert_eq!(described.collect::<BTreeSet<_>>(), served.collect::<BTreeSet<_>>());
        assert_eq!(description["servers"][0]["url"], PREFIX);
    }
}
