//! `GET /healthz` and `GET /readyz`, at the root, where those who start and watch programs look for them. They tell names of faults alone, so
//! that who asks needs no token.

use super::App;
use crate::failure::{Failure, json_response};
use crate::parameters::Parameters;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;
use std::sync::Arc;

/// The server answers.
pub(super) async fn live(uri: Uri) -> Result<Response, Failure> {
    Parameters::read(&uri, &[])?;
    Ok(json_response(StatusCode::OK, json!({ "status": "ok" }).to_string()))
}

/// What nodes send is taken and stored; 503 while a fault of the controller's own prevents that.
pub(super) async fn ready(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Failure> {
    Parameters::read(&uri, &[])?;
    let status = app.hub.status();
    // Rows that are damaged are left out of answers, and nothing else.
    let lasting =
        status.faults.iter().filter(|fault| fault.until_ns.is_none() && fault.fault != "archive_rows");
    let faults: Vec<&str> = lasting.map(|fault| fault.fault.as_str()).collect();
    let (code, word) = match faults.is_empty() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
    };
    Ok(json_response(code, json!({ "status": word, "faults": faults }).to_string()))
}
