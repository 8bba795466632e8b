//! Numbers of the participants of a run.

use std::fmt;
pub use task::{WindowId, WorkerId};

/// The number of a receiver among all of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiverId(usize);

impl ReceiverId {
    /// The receiver of this number.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }

    /// Returns the receiver's place in a list of all receivers.
    pub const fn index(self) -> usize {
        self.0
    }

    /// Returns the first worker of the receiver, if each receiver has `workers`. A receiver that counts is its own only worker.
    pub const fn first_worker(self, workers: usize) -> WorkerId {
        WorkerId::new(self.0 * workers)
    }
}

impl fmt::Display for ReceiverId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
