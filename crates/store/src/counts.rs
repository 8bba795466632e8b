//! What was stored, and what was not, by reason.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows or records of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Those that the manifest names.
    pub stored: u64,
    /// Those that found no room in the queue, for the disk was slower than they came.
    pub behind: u64,
    /// Those that could not be written.
    pub refused: u64,
}

impl Stored {
    /// Those that are not in the store.
    pub fn lost(&self) -> u64 {
        self.behind + self.refused
    }
}

/// What a store did in this process, and what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Window rows.
    pub rows: Stored,
    /// Flow records.
    pub flows: Stored,
    /// Files that were dropped because of their age.
    pub aged: u64,
    /// Files that were dropped to hold the size.
    pub squeezed: u64,
    /// Rollups and compactions that failed.
    pub failed_upkeep: u64,
    /// Files that the manifest names.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// What cannot be written at present, in words.
    pub fault: Option<String>,
}

/// The same while it is counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) rows: StoredTally,
    pub(crate) flows: StoredTally,
    pub(crate) aged: AtomicU64,
    pub(crate) squeezed: AtomicU64,
    pub(crate) failed_upkeep: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct StoredTally {
    pub(crate) stored: AtomicU64,
    pub(crate) behind: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl StoredTally {
    pub(crate) fn read(&self) -> Stored {
        let of = |count: &AtomicU64| count.load(Relaxed);
        Stored { stored: of(&self.stored), behind: of(&self.behind), refused: of(&self.refused) }
    }
}
