//! The inputs of task lists.

use crate::capturing::Capturing;
use events::QueryRun;
use protocol::LookBackTask;

/// The inputs of task lists, besides the queries. Lists are built again only when these change: a thousand nodes with ten queries have 10,000
/// tasks, too many to build for each message.
#[derive(Debug, Default)]
pub(crate) struct TaskListInputs {
    runs: Vec<QueryRun>,
    asked: Vec<(usize, LookBackTask)>,
    capturing: Vec<Capturing>,
    /// Counts the changes.
    version: u64,
}

impl TaskListInputs {
    /// Forces all lists to be built again.
    pub(crate) fn forget(&mut self) {
        self.version += 1;
    }

    /// Records the current inputs. Returns their version, which grows with each change.
    pub(crate) fn version_of(
        &mut self,
        runs: &[QueryRun],
        asked: &[(usize, LookBackTask)],
        capturing: &[Capturing],
    ) -> u64 {
        if self.runs != runs || self.asked != asked || self.capturing != capturing {
            self.runs = runs.to_vec();
            self.asked = asked.to_vec();
            self.capturing = capturing.to_vec();
            self.version += 1;
        }
        self.version
    }
}
