//! The requests of clients to the owner of the hub, and what becomes of them.

use model::{DryRunOutcome, HistoryAnswers, Span};
use serde::Serialize;
use serde_json::Value as Json;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::oneshot;

/// A request of a client that the owner of the hub carries out.
#[derive(Debug)]
pub enum Request {
    /// Install the queries of a file.
    Install {
        /// The file's name.
        file: String,
        /// The file's text.
        text: String,
        /// True if its queries take the places of those of their names.
        replaces: bool,
        /// The reply that tells what became of the request.
        reply: Reply<Installed>,
    },
    /// Remove a query.
    Remove {
        /// The query's name.
        name: String,
        /// The reply that tells what became of the request.
        reply: Reply<Removed>,
    },
    /// Ask the stores of nodes.
    History {
        /// The question.
        asked: HistoryAsked,
        /// The reply that tells what they answer.
        reply: Reply<HistoryAnswers>,
    },
    /// Play queries over what the stores of nodes remember.
    DryRun {
        /// The queries to play.
        asked: DryRunAsked,
        /// The reply that tells what came of it.
        reply: Reply<DryRunOutcome>,
    },
}

/// A question to the stores of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryAsked {
    /// Queries; empty for those of a first look.
    pub text: String,
    /// The names of the nodes that are asked; none for all.
    pub nodes: Vec<String>,
    /// The time whose rows are read where a query says nothing, nanoseconds since the epoch: its begin.
    pub from_ns: Option<u64>,
    /// The end of that time, nanoseconds since the epoch.
    pub to_ns: Option<u64>,
    /// The length of the windows of queries that do not say it, nanoseconds; `None`: they are about all of the time.
    pub every_ns: Option<u64>,
    /// Rows of the rankings of a first look.
    pub top: usize,
    /// The memory that each node may take, bytes.
    pub memory_bytes: Option<u64>,
    /// The longest time that nodes may take.
    pub time: Duration,
}

/// Queries that are to be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunAsked {
    /// The name of their file.
    pub file: String,
    /// The text of the queries.
    pub text: String,
    /// The time whose events are told.
    pub period: Span,
    /// The memory that each node may take, bytes.
    pub memory_bytes: Option<u64>,
    /// The longest time that all of it may take.
    pub time: Duration,
}

/// The reply to a request. A client whose reply is dropped is told that nobody answered.
#[derive(Debug)]
pub struct Reply<T>(oneshot::Sender<Result<T, RequestRefusal>>);

impl<T> Reply<T> {
    /// Answers. A client that has left does not mind.
    pub fn send(self, result: Result<T, RequestRefusal>) {
        let _ = self.0.send(result);
    }

    /// Returns true if the client has left.
    pub fn has_left(&self) -> bool {
        self.0.is_closed()
    }
}

/// Queries that were installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Installed {
    /// The names of the queries.
    pub queries: Vec<String>,
    /// Warnings, a line each.
    pub warnings: Vec<String>,
}

/// Queries that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removed {
    /// The names of the queries.
    pub removed: Vec<String>,
}

/// The reason why a request is not carried out. The text is one line that says what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestRefusal {
    /// The query does not exist (404).
    Unknown(String),
    /// The request does not go with what is there (409).
    Conflict(String),
    /// The owner is doing as much as is possible: the request may be sent again in a moment (429).
    Busy(String),
    /// The text has errors (422).
    Invalid {
        /// The first of the errors, or their number.
        error: String,
        /// The errors, each with `severity`, `message`, `line`, `column`, as `edison check --json` has them.
        diagnostics: Vec<Json>,
    },
    /// The owner of the hub does not carry out requests of this kind (409).
    NotHere,
    /// Something failed (500).
    Failed(String),
}

/// Sends a request and gives what answers it; `None` if nobody takes requests any more.
pub(crate) fn send<T>(
    requests: &Sender<Request>,
    request: impl FnOnce(Reply<T>) -> Request,
) -> Option<oneshot::Receiver<Result<T, RequestRefusal>>> {
    let (reply, answer) = oneshot::channel();
    requests.send(request(Reply(reply))).ok()?;
    Some(answer)
}
