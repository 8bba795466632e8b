//! `GET /healthz` and `GET /readyz`, at the root, where those who start and watch programs look for them. They tell names of faults alone, so
//! that who asks needs no token.

use super::App;
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::view::BrokerState;
use serde_json::json;
use std::sync::Arc;

/// The fault of a broker that is not reached, as the controller names it.
const BROKER_AWAY: &str = "broker_away";

/// The server answers.
pub(super) async fn live(uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    Ok(json_response(StatusCode::OK, json!({ "status": "ok" }).to_string()))
}

/// Answers whether what nodes send is taken and stored; 503 while a fault of the controller's own prevents that. A broker that was never reached
/// is such a fault too, which the status has no entry of while it is tried for the first time.
pub(super) async fn ready(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    Parameters::read(&uri, &[])?;
    let status = app.hub.status();
    // Rows that are damaged are left out of answers, and nothing else.
    let lasting =
        status.faults.iter().filter(|fault| fault.until_ns.is_none() && fault.fault != "archive_rows");
    let mut faults: Vec<&str> = lasting.map(|fault| fault.fault.as_str()).collect();
    let is_away = status.broker.as_ref().is_some_and(|broker| broker.state == BrokerState::Away);
    if is_away && !faults.contains(&BROKER_AWAY) {
        faults.push(BROKER_AWAY);
    }
    let (code, word) = match faults.is_empty() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
    };
    Ok(json_response(code, json!({ "status": word, "faults": faults }).to_string()))
}
