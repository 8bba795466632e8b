//! The response to a client that does not get what it asked for.

use crate::RequestRefusal;
use crate::responses::{Error, Invalid};
use archive::ArchiveError;
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value as Json;

/// The seconds after which to ask again for what was too much at once.
const BUSY_S: u64 = 2;

/// A status code, and one line that says what to do.
#[derive(Debug)]
pub(crate) struct ApiFailure {
    pub(crate) status: StatusCode,
    pub(crate) error: String,
    /// The errors in a text.
    diagnostics: Option<Vec<Json>>,
    /// The name under which the failure is counted.
    refused: Option<&'static str>,
    /// The seconds after which to try again.
    again_after: Option<u64>,
}

/// The part of a response that tells of a refused request.
#[derive(Clone, Debug)]
pub(crate) struct RefusedRequest {
    /// The name under which the refusal is counted.
    pub(crate) name: &'static str,
    pub(crate) error: String,
}

impl ApiFailure {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), diagnostics: None, refused: None, again_after: None }
    }

    /// Creates a refusal of who asks, whatever he asks for: it is counted under this name.
    pub(crate) fn refused(name: &'static str, status: StatusCode, error: impl Into<String>) -> Self {
        Self { refused: Some(name), ..Self::new(status, error) }
    }

    /// Returns the failure with a hint to try again after `seconds` seconds.
    pub(crate) fn again_after(self, seconds: u64) -> Self {
        Self { again_after: Some(seconds), ..self }
    }

    pub(crate) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// Creates a failure that depends on the server alone.
    pub(crate) fn internal(error: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl From<ArchiveError> for ApiFailure {
    fn from(error: ArchiveError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<serde_json::Error> for ApiFailure {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(format!("this cannot be written as JSON: {error}"))
    }
}

impl From<RequestRefusal> for ApiFailure {
    fn from(refusal: RequestRefusal) -> Self {
        match refusal {
            RequestRefusal::Unknown(error) => Self::new(StatusCode::NOT_FOUND, error),
            RequestRefusal::Conflict(error) => Self::new(StatusCode::CONFLICT, error),
            RequestRefusal::Busy(error) => {
                Self::refused("busy", StatusCode::TOO_MANY_REQUESTS, error).again_after(BUSY_S)
            }
            RequestRefusal::Invalid { error, diagnostics } => {
                let failure = Self::new(StatusCode::UNPROCESSABLE_ENTITY, error);
                Self { diagnostics: Some(diagnostics), ..failure }
            }
            RequestRefusal::NotHere => Self::new(StatusCode::CONFLICT, "this is not done here"),
            RequestRefusal::Failed(error) => Self::internal(error),
        }
    }
}

impl IntoResponse for ApiFailure {
    fn into_response(self) -> Response {
        let error = &*self.error;
        let body = match &self.diagnostics {
            Some(diagnostics) => serde_json::to_vec(&Invalid { error, diagnostics }),
            None => serde_json::to_vec(&Error { error }),
        };
        // Texts and JSON can always be written.
        let mut response = json_response(self.status, body.unwrap_or_default());
        if self.status == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer realm=\"edison\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
        }
        if let Some(seconds) = self.again_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(name) = self.refused {
            response.extensions_mut().insert(RefusedRequest { name, error: self.error });
        }
        response
    }
}

/// A response that is JSON.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body.into()).into_response()
}
