//! The stream of what is published.

use super::App;
use crate::access::Identity;
use crate::failure::ApiFailure;
use crate::feed::{NextMessage, StreamForm, Subscription};
use crate::message::message;
use crate::parameters::Parameters;
use crate::responses::Lagged;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A stream without a message for so long has a comment, so that a client that is gone is found out.
const PAUSE: Duration = Duration::from_secs(15);

/// The state of one stream.
struct StreamState {
    /// The message that the stream is told first.
    first: Option<Bytes>,
    subscription: Subscription,
    app: Arc<App>,
    stops: watch::Receiver<bool>,
    /// The identity of who is told.
    identity: Identity,
}

pub(super) async fn follow(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    uri: Uri,
) -> Result<Response, ApiFailure> {
    let form = form(&Parameters::read(&uri, &["nodes"])?)?;
    let Some((first, subscription)) = app.hub.subscribe(form)? else {
        let error = "there are too many streams: close a page or another client, and try again";
        return Err(ApiFailure::refused("too_many_streams", StatusCode::SERVICE_UNAVAILABLE, error));
    };
    let stops = app.stops.clone();
    let teller = StreamState { first: Some(first), subscription, app, stops, identity };
    let told = stream::unfold(teller, |mut teller| async {
        let part = teller.next().await?;
        Some((Ok::<_, Infallible>(part), teller))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        // A reverse proxy that collects answers hands on each message as it comes.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(told)).into_response())
}

/// Returns the form of what a client asks to be told of nodes.
fn form(parameters: &Parameters<'_>) -> Result<StreamForm, ApiFailure> {
    match parameters.text("nodes") {
        None | Some("all") => Ok(StreamForm::Whole),
        Some("changes") => Ok(StreamForm::Changes),
        Some(other) => Err(ApiFailure::bad(format!("nodes: {other:?} is neither all nor changes"))),
    }
}

impl StreamState {
    /// Waits for the next part of the stream; `None` when the server stops, or who is told may not be told any more.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if *self.stops.borrow() || !self.is_allowed() {
                return None;
            }
            match self.subscription.take() {
                NextMessage::Message(told) => return Some(told),
                NextMessage::Missed(missed) => return self.lagged(missed).ok(),
                NextMessage::Nothing => {}
            }
            tokio::select! {
                () = self.subscription.wait() => {}
                // The sender lives as long as the server: an error is its end.
                stops = self.stops.changed() => stops.ok()?,
                () = tokio::time::sleep(PAUSE) => return Some(Bytes::from_static(b":\n\n")),
            }
        }
    }

    /// Returns the message about messages that are kept no more, and the whole status where changes of it may have been among them.
    fn lagged(&self, missed: u64) -> serde_json::Result<Bytes> {
        let lagged = message("lagged", &Lagged { missed })?;
        match self.subscription.form() {
            StreamForm::Whole => Ok(lagged),
            StreamForm::Changes => {
                Ok(Bytes::from([lagged, message("status", &self.app.hub.status())?].concat()))
            }
        }
    }

    /// Returns true if the token is still there, and the session goes on.
    fn is_allowed(&self) -> bool {
        if let Some(line) = self.app.access.refresh() {
            self.app.hub.log(&line);
        }
        self.app.access.still_knows(&self.identity)
    }
}
