//! The messages.

use report::{Answer, Span};
use serde::{Deserialize, Serialize};
use task::query::Query;

/// What a controller says to a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToProbe {
    /// All that it is to answer, in the place of what it was told before.
    Tasks(TaskList),
    /// A replay may enter windows that begin up to this time, nanoseconds since the epoch.
    Enter {
        /// The time.
        until_ns: u64,
    },
}

/// All that a probe is to answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskList {
    /// Later lists have larger numbers.
    pub generation: u64,
    /// The tasks.
    pub tasks: Vec<Task>,
}

/// A query, and when it is to be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The query.
    pub query: Query,
    /// The stream time in which it is answered, the begins and ends of windows; `None` for ever.
    pub time: Option<Span>,
}

/// What a probe says to its controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromProbe {
    /// A replay is about to enter the window that begins then. Windows before it that it did not enter had no packets.
    Reached {
        /// The begin of the window, nanoseconds since the epoch.
        at_ns: u64,
    },
    /// A window is answered.
    Window(Box<WindowResult>),
    /// A list cannot be carried out: what it had before it still answers.
    Refused {
        /// Of the list.
        generation: u64,
        /// Why.
        reason: String,
    },
    /// Nothing follows.
    Ended {
        /// Answers of windows that the end cut.
        answers: Vec<Answer>,
    },
}

/// All answers of one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowResult {
    /// The window.
    pub window: Span,
    /// The answers; those of other windows are of longer ones that end with it.
    pub answers: Vec<Answer>,
}
