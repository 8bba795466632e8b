//! What a client asks to be changed, and what becomes of it.

use serde_json::Value as Json;
use std::sync::mpsc::Sender;
use tokio::sync::oneshot;

/// A change that a client asks for.
#[derive(Debug)]
pub enum Request {
    /// Install the queries of a file.
    Install {
        /// Its name.
        file: String,
        /// Its text.
        text: String,
        /// Where to say what became of it.
        reply: Reply<Installed>,
    },
    /// Remove a query.
    Remove {
        /// Its name.
        name: String,
        /// Where to say what became of it.
        reply: Reply<Removed>,
    },
}

/// Where to say what became of a request. A client whose reply is dropped is told that nobody answered.
#[derive(Debug)]
pub struct Reply<T>(oneshot::Sender<Result<T, Refusal>>);

impl<T> Reply<T> {
    /// Answers. A client that has left does not mind.
    pub fn send(self, result: Result<T, Refusal>) {
        let _ = self.0.send(result);
    }
}

/// Queries that were installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    /// Their names.
    pub queries: Vec<String>,
    /// What to think about, a line each.
    pub warnings: Vec<String>,
}

/// Queries that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Their names.
    pub removed: Vec<String>,
}

/// Why a request is not carried out. The text is one line that says what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// There is no such query (404).
    Unknown(String),
    /// It does not go with what is there (409).
    Conflict(String),
    /// The text has errors (422).
    Invalid {
        /// The first of them, or their number.
        error: String,
        /// Each with `severity`, `message`, `line`, `column`, as `edison check --json` has them.
        diagnostics: Vec<Json>,
    },
    /// Something failed (500).
    Failed(String),
}

/// Sends a request and gives what answers it; `None` if nobody takes requests any more.
pub(crate) fn send<T>(
    requests: &Sender<Request>,
    request: impl FnOnce(Reply<T>) -> Request,
) -> Option<oneshot::Receiver<Result<T, Refusal>>> {
    let (reply, answer) = oneshot::channel();
    requests.send(request(Reply(reply))).ok()?;
    Some(answer)
}
