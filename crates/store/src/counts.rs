//! Counts of what was stored, and of what was not, by reason.

use crate::Level;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows or records of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// The number of rows or records that the manifest names.
    pub stored: u64,
    /// The number of rows or records that found no room in the queue, for the disk was slower than they came.
    pub behind: u64,
    /// The number of rows or records that could not be written.
    pub refused: u64,
}

impl WriteCounts {
    /// Returns the number of rows or records that are not in the store.
    pub fn lost(&self) -> u64 {
        self.behind + self.refused
    }
}

/// The counts of what a store did in this process, and its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Window rows.
    pub rows: WriteCounts,
    /// Flow records.
    pub flows: WriteCounts,
    /// The number of files that were dropped because of their age.
    pub aged: u64,
    /// The number of files that were dropped to hold the size.
    pub squeezed: u64,
    /// The number of rollups and compactions that failed.
    pub failed_upkeep: u64,
    /// The number of files that the manifest names.
    pub files: u64,
    /// The size of the files that the manifest names, bytes.
    pub bytes: u64,
    /// The fault by which something cannot be written at present, in words.
    pub fault: Option<String>,
}

/// The counts of a store while it works.
#[derive(Debug, Default)]
pub(crate) struct StoreCounters {
    pub(crate) rows: StoredTally,
    pub(crate) flows: StoredTally,
    pub(crate) aged: AtomicU64,
    pub(crate) squeezed: AtomicU64,
    pub(crate) failed_upkeep: AtomicU64,
}

impl StoreCounters {
    /// Returns the counts of what is measured of a level: of records, or of rows.
    pub(crate) fn level(&self, level: Level) -> &StoredTally {
        if level == Level::Flows { &self.flows } else { &self.rows }
    }
}

#[derive(Debug, Default)]
pub(crate) struct StoredTally {
    pub(crate) stored: AtomicU64,
    pub(crate) behind: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl StoredTally {
    pub(crate) fn read(&self) -> WriteCounts {
        let of = |count: &AtomicU64| count.load(Relaxed);
        WriteCounts { stored: of(&self.stored), behind: of(&self.behind), refused: of(&self.refused) }
    }
}
