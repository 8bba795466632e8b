//! What lists of tasks were made of.

use crate::capturing::Capturing;
use events::Run;
use protocol::LookBackTask;

/// What lists of tasks were made of, besides the queries. To make the lists of a thousand nodes for every message, only to find that
/// they are the same, takes more than a core.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    runs: Vec<Run>,
    asked: Vec<(usize, LookBackTask)>,
    capturing: Vec<Capturing>,
    /// Counts the changes.
    version: u64,
}

impl Listed {
    /// All lists are made again.
    pub(crate) fn forget(&mut self) {
        self.version += 1;
    }

    /// Notes what lists are made of now, and returns the number of its changes.
    pub(crate) fn version_of(
        &mut self,
        runs: &[Run],
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
