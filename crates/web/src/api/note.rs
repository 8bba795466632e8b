//! The note of a user.

use super::App;
use crate::body;
use crate::failure::ApiFailure;
use axum::body::Body;
use axum::http::HeaderMap;

/// The longest note, bytes.
const MOST: usize = 1_000;

/// Reads the note that is the body of a request.
pub(super) async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<String, ApiFailure> {
    let note = body::read_text(headers, body, app.body_time).await?;
    let note = note.trim();
    if note.len() > MOST || note.contains(|letter: char| letter.is_control() && letter != '\n') {
        let error = format!("a note has at most {MOST} bytes, and no control characters but line breaks");
        return Err(ApiFailure::bad(error));
    }
    Ok(note.to_owned())
}
