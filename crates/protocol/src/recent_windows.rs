//! Questions about windows that are over.

use model::{Answer, Span};
use serde::{Deserialize, Serialize};
use task::query::Query;

/// The limits of what a probe is to keep of windows that are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionLimits {
    /// The number of windows.
    pub windows: u64,
    /// The number of flows of IPv4 for which each is to have room. A probe refuses what takes more memory than it allows.
    pub flows: u64,
}

/// Queries about windows that are over. The probe answers each number once, as long as lists have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookBackTask {
    /// The task's number; no other one of this controller's start has it.
    pub id: u64,
    /// The begin of the first window and the end of the last.
    pub window: Span,
    /// The queries.
    pub queries: Vec<Query>,
}

/// The answers to queries about windows that are over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookedBack {
    /// The number of the task.
    pub id: u64,
    /// The span that was asked for.
    pub window: Span,
    /// The answers: those that the queries would have had if they had been asked before.
    pub answers: Vec<Answer>,
    /// The reason why answers are missing, if any are: `not_kept: …` and others, and for each query that cannot be answered here why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}
