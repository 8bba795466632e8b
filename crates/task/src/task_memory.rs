//! The memory that is leased for the tasks of a set.

use arena::Lease;

/// The memory of the states of a set's tasks.
#[derive(Debug, Default)]
pub struct TaskMemory {
    _own: Option<Lease>,
    /// The memory of the run's own tasks, while those of the set before have what the run was admitted with.
    beside: Option<Lease>,
}

impl TaskMemory {
    /// The memory of a set that no other one is before.
    pub fn new(own: Lease) -> Self {
        Self { _own: Some(own), beside: None }
    }

    /// Adds the memory that a set takes until nothing of the set before is answered.
    #[must_use]
    pub fn with(self, beside: Lease) -> Self {
        Self { beside: Some(beside), ..self }
    }

    /// Gives back what is for the set before alone.
    pub(crate) fn leave_others(&mut self) {
        self.beside = None;
    }
}
