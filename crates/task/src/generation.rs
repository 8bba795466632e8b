//! The set of tasks by which something was counted.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a task set in a run. What was counted by different sets is never merged, whatever their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(u64);

impl Generation {
    /// The generation of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The next one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Refuses what was counted by another set than this one.
    pub(crate) fn check_same(self, other: Self) -> Result<(), OtherGeneration> {
        if self == other { Ok(()) } else { Err(OtherGeneration { ours: self, theirs: other }) }
    }
}

/// The error of counts that cannot be merged because they are of different task sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherGeneration {
    /// The set of the counts that the other was to be merged into.
    pub ours: Generation,
    /// The set of the other.
    pub theirs: Generation,
}

impl fmt::Display for OtherGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partial answers of generation {} cannot take those of {}", self.ours, self.theirs)
    }
}

impl std::error::Error for OtherGeneration {}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
