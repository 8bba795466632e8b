//! Questions that have no answer.

use std::fmt;

/// The reason why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverviewError {
    /// There is no node of this name.
    NoNode(String),
}

impl fmt::Display for OverviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode(line) => f.write_str(line),
        }
    }
}

impl std::error::Error for OverviewError {}
