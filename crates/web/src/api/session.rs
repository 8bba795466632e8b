//! Sessions of pages: who shows a token is known by a cookie from then on.

use super::App;
use crate::access::Identity;
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::responses::Session;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use std::sync::Arc;

/// Shows who asks, and what he may do.
pub(super) async fn show(Extension(identity): Extension<Identity>, uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    described(&session(&identity))
}

pub(super) async fn begin(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let cookie = app.access.begin_session(&identity);
    let cookie = cookie.map_err(|error| ApiFailure::internal(format!("there is no session: {error}")))?;
    let mut response = described(&session(&identity))?;
    if let Some(cookie) = cookie {
        set(&mut response, &cookie)?;
    }
    Ok(response)
}

pub(super) async fn end(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let mut response = described(&Session { name: None, role: None })?;
    set(&mut response, &app.access.end_session(&headers))?;
    Ok(response)
}

fn session(identity: &Identity) -> Session<'_> {
    Session { name: identity.name.as_deref(), role: Some(identity.role) }
}

fn described(session: &Session<'_>) -> Result<Response, ApiFailure> {
    Ok(json_response(StatusCode::OK, serde_json::to_vec(session)?))
}

fn set(response: &mut Response, cookie: &str) -> Result<(), ApiFailure> {
    let value = HeaderValue::try_from(cookie);
    let value = value.map_err(|_| ApiFailure::internal("the session has no cookie"))?;
    response.headers_mut().insert(header::SET_COOKIE, value);
    Ok(())
}
