//! Requests that the owner of the hub carries out.

use super::App;
use crate::failure::ApiFailure;
use crate::request::{self, Reply, Request, RequestRefusal};
use axum::http::StatusCode;
use std::time::Duration;

/// The terms on which a request is carried out.
pub(super) struct Terms {
    /// The longest time that the request may take.
    pub(super) timeout: Duration,
    /// The reason why a run does not carry it out.
    pub(super) of_run: &'static str,
    /// The end of the error where the request took too long: what to do.
    pub(super) late: &'static str,
}

/// Hands a request to who carries it out, and waits for what becomes of it.
pub(super) async fn carry_out<T>(
    app: &App,
    terms: Terms,
    request: impl FnOnce(Reply<T>) -> Request,
) -> Result<T, ApiFailure> {
    let gone =
        || ApiFailure::new(StatusCode::SERVICE_UNAVAILABLE, "the controller has ended: start it again");
    let not_here = || RequestRefusal::Conflict(terms.of_run.to_owned());
    let Some(requests) = &app.requests else { return Err(not_here().into()) };
    let answer = request::send(requests, request).ok_or_else(gone)?;
    match tokio::time::timeout(terms.timeout, answer).await {
        Ok(Ok(Err(RequestRefusal::NotHere))) => Err(not_here().into()),
        Ok(Ok(result)) => Ok(result?),
        Ok(Err(_)) => Err(gone()),
        Err(_) => {
            let seconds = terms.timeout.as_secs();
            let error = format!("the controller did not answer in {seconds} s{}", terms.late);
            Err(ApiFailure::new(StatusCode::GATEWAY_TIMEOUT, error))
        }
    }
}
