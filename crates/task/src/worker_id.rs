//! The worker that counted something.

use std::fmt;

/// The number of a worker among all that count in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(usize);

impl WorkerId {
    /// The worker of this number.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }

    /// Returns the worker's place in a list of all workers.
    pub const fn index(self) -> usize {
        self.0
    }

    /// The worker `places` after this one.
    pub const fn plus(self, places: usize) -> Self {
        Self(self.0 + places)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
