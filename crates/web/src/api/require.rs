//! Lets in who may ask for what a route has.

use super::App;
use crate::access::{Identity, Role};
use crate::failure::ApiFailure;
use crate::guard::foreign;
use crate::peer::Peer;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The app and the role that a route requires.
#[derive(Clone, Debug)]
pub(super) struct Required {
    pub(super) app: Arc<App>,
    pub(super) role: Role,
}

/// Asks who sends a request, before anything of its body is read, and adds that to it.
pub(super) async fn require(State(required): State<Required>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Peer(address)| address.ip());
    match allowed(&required, request.method(), request.headers(), peer).await {
        Ok(identity) => {
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
        Err(failure) => failure.into_response(),
    }
}

async fn allowed(
    required: &Required,
    method: &Method,
    headers: &HeaderMap,
    peer: IpAddr,
) -> Result<Identity, ApiFailure> {
    let app = &required.app;
    if let Some(line) = app.access.refresh() {
        app.hub.log(&line);
    }
    let identity = app.access.identify(headers, peer).await?;
    if identity.is_by_cookie() && changes(method) && !says_where_from(headers) {
        return Err(foreign("a request with a cookie that does not say from which page it comes"));
    }
    if identity.role < required.role {
        let name = identity.name.as_deref().unwrap_or_default();
        let error = format!("this needs the role {}: the token {name} has {}", required.role, identity.role);
        return Err(ApiFailure::refused("role", StatusCode::FORBIDDEN, error));
    }
    Ok(identity)
}

fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// Returns true if a request says where it comes from, as all browsers do where something is changed; the guard has checked what they say.
fn says_where_from(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site")
}
