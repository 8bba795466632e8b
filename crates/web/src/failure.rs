//! What a client is told instead of what it asked for.

use crate::Refusal;
use archive::ArchiveError;
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Json, json};

/// A status code, and one line that says what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) error: String,
    /// What is wrong in a text.
    diagnostics: Option<Vec<Json>>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), diagnostics: None }
    }

    pub(crate) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// What depends on the server alone.
    pub(crate) fn internal(error: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(format!("this cannot be written as JSON: {error}"))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unknown(error) => Self::new(StatusCode::NOT_FOUND, error),
            Refusal::Conflict(error) => Self::new(StatusCode::CONFLICT, error),
            Refusal::Invalid { error, diagnostics } => {
                Self { status: StatusCode::UNPROCESSABLE_ENTITY, error, diagnostics: Some(diagnostics) }
            }
            Refusal::Failed(error) => Self::internal(error),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut body = json!({ "error": self.error });
        if let Some(diagnostics) = self.diagnostics {
            body["diagnostics"] = diagnostics.into();
        }
        json_response(self.status, body.to_string())
    }
}

/// A response that is JSON.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body.into()).into_response()
}
