//! The guard of the server: whose pages may ask, and what a browser may do with what is served.
//!
//! A page of another site can have a browser send requests here. A name that it made resolve to this server's address stands in `Host`;
//! what it posts without one comes with its `Origin`.

use crate::Hub;
use crate::failure::{ApiFailure, RefusedRequest};
use crate::names::ServerNames;
use crate::nonce::Nonce;
use crate::peer::Peer;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The part of the policy to which that of one response adds.
const OWN_STYLES: &str = "style-src 'self'";
/// Letters of a path, or of an error, that are logged.
const MOST_LOGGED: usize = 150;

/// The state that the guard needs.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) hub: Hub,
    pub(crate) names: Arc<ServerNames>,
}

/// Refuses what comes from elsewhere, counts all that is refused, and adds to each response what a browser may do with it.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let asked = asked(&request);
    let mut response = match check(&guard.names, request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    };
    if let Some(RefusedRequest { name, error }) = response.extensions_mut().remove() {
        guard.hub.refuse(name, || format!("{asked}: {}", begin_of(&error)));
    }
    let policy = policy(response.extensions_mut().remove());
    let headers = response.headers_mut();
    headers.insert("content-security-policy", policy);
    let mut set = |name: &'static str, value| headers.insert(name, HeaderValue::from_static(value));
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "no-referrer");
    set("cross-origin-resource-policy", "same-origin");
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Returns what a browser may do: beside files of this server, styles with the nonce of the response may be there.
fn policy(nonce: Option<Nonce>) -> HeaderValue {
    let usual = HeaderValue::from_static(POLICY);
    let Some(Nonce(nonce)) = nonce else { return usual };
    let policy = POLICY.replacen(OWN_STYLES, &format!("{OWN_STYLES} 'nonce-{nonce}'"), 1);
    HeaderValue::try_from(policy).unwrap_or(usual)
}

/// Returns who asked for what, for the log: without what only he should know.
fn asked(request: &Request) -> String {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or_else(|| "a client".to_owned(), |Peer(address)| address.ip().to_string());
    format!("{peer}: {} {}", request.method(), begin_of(request.uri().path()))
}

/// Returns as much of a text as is logged.
fn begin_of(text: &str) -> String {
    text.chars().take(MOST_LOGGED).collect()
}

fn check(names: &ServerNames, method: &Method, headers: &HeaderMap) -> Result<(), ApiFailure> {
    let host = host(names, headers)?;
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    if let Some(origin) = headers.get(header::ORIGIN)
        && !is_own(origin, host)
    {
        let origin = String::from_utf8_lossy(origin.as_bytes());
        return Err(foreign(&origin));
    }
    // Missing where it is no browser; `none`: the user's own doing.
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(foreign("another site")),
    }
}

/// Returns the refusal of what another site may not do.
pub(crate) fn foreign(site: &str) -> ApiFailure {
    let error = format!("{site} may not change anything here: use the page of this server");
    ApiFailure::refused("origin", StatusCode::FORBIDDEN, error)
}

fn is_own(origin: &HeaderValue, host: &str) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
}

/// The one name by which the server was asked, if it is one of its own.
fn host<'a>(names: &ServerNames, headers: &'a HeaderMap) -> Result<&'a str, ApiFailure> {
    let refused = |error: String| ApiFailure::refused("host", StatusCode::FORBIDDEN, error);
    let mut hosts = headers.get_all(header::HOST).iter();
    let (host, more) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
    let Some(host) = host.filter(|_| more.is_none()) else {
        return Err(refused(format!("the request needs one Host: {}", names.hint())));
    };
    match names.has(host) {
        true => Ok(host),
        false => Err(refused(format!("the Host {host} is not this machine: {}", names.hint()))),
    }
}
