//! Bodies of requests: bounded in size and time.

use crate::failure::ApiFailure;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use std::time::Duration;

/// The largest text of queries, bytes.
pub(crate) const MOST: usize = 1 << 20;

/// Reads a body.
pub(crate) async fn read(headers: &HeaderMap, body: Body, time: Duration) -> Result<Vec<u8>, ApiFailure> {
    let too_large = || {
        let error = "the text has more than 1 MiB: install it in parts";
        ApiFailure::refused("large_body", StatusCode::PAYLOAD_TOO_LARGE, error)
    };
    // Without a byte of it where it says so.
    let said =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|length| length > MOST as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(time, axum::body::to_bytes(body, MOST)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(error)) if is_too_large(&error) => Err(too_large()),
        Ok(Err(_)) => Err(ApiFailure::bad("the text did not arrive: send it again")),
        Err(_) => {
            let error = format!("the text did not arrive in {} s: send it again", time.as_secs());
            Err(ApiFailure::refused("slow_body", StatusCode::REQUEST_TIMEOUT, error))
        }
    }
}

/// Reads a body that is a text.
pub(crate) async fn read_text(headers: &HeaderMap, body: Body, time: Duration) -> Result<String, ApiFailure> {
    String::from_utf8(read(headers, body, time).await?).map_err(|error| {
        ApiFailure::bad(format!("the text is not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))
    })
}

fn is_too_large(error: &axum::Error) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    causes.any(|error| error.is::<http_body_util::LengthLimitError>())
}
