//! What a client asks of the owner of the hub, and what becomes of it.

use model::{DryRunOutcome, HistoryAnswers, Span};
use serde::Serialize;
use serde_json::Value as Json;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::oneshot;

/// What a client asks for that the owner of the hub carries out.
#[derive(Debug)]
pub enum Request {
    /// Install the queries of a file.
    Install {
        /// Its name.
        file: String,
        /// Its text.
        text: String,
        /// Its queries take the places of those of their names.
        replaces: bool,
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
    /// Ask the stores of nodes.
    History {
        /// What is asked.
        asked: HistoryAsked,
        /// Where to say what they answer.
        reply: Reply<HistoryAnswers>,
    },
    /// Play queries over what the stores of nodes remember.
    DryRun {
        /// What is asked.
        asked: DryRunAsked,
        /// Where to say what came of it.
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
    /// Its end.
    pub to_ns: Option<u64>,
    /// The length of the windows of queries that do not say it, nanoseconds; `None`: they are about all of the time.
    pub every_ns: Option<u64>,
    /// Rows of the rankings of a first look.
    pub top: usize,
    /// The memory that each node may take, bytes.
    pub memory_bytes: Option<u64>,
    /// How long nodes may take.
    pub time: Duration,
}

/// Queries that are to be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunAsked {
    /// The name of their file.
    pub file: String,
    /// Their text.
    pub text: String,
    /// The time whose events are told.
    pub period: Span,
    /// The memory that each node may take, bytes.
    pub memory_bytes: Option<u64>,
    /// How long all of it may take.
    pub time: Duration,
}

/// Where to say what became of a request. A client whose reply is dropped is told that nobody answered.
#[derive(Debug)]
pub struct Reply<T>(oneshot::Sender<Result<T, Refusal>>);

impl<T> Reply<T> {
    /// Answers. A client that has left does not mind.
    pub fn send(self, result: Result<T, Refusal>) {
        let _ = self.0.send(result);
    }

    /// Whether the client has left.
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

/// Why a request is not carried out. The text is one line that says what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// There is no such query (404).
    Unknown(String),
    /// It does not go with what is there (409).
    Conflict(String),
    /// As much as is possible is being done: it may be asked again in a moment (429).
    Busy(String),
    /// The text has errors (422).
    Invalid {
        /// The first of them, or their number.
        error: String,
        /// Each with `severity`, `message`, `line`, `column`, as `edison check --json` has them.
        diagnostics: Vec<Json>,
    },
    /// Who owns the hub does not carry out requests of this kind (409).
    NotHere,
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
