//! A file of a store, as the manifest describes it.

use super::level::Level;
use crate::question::Period;
use packet::KeySpec;
use std::path::PathBuf;

/// A file of a store, as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// Where it is.
    pub path: PathBuf,
    /// How coarse its rows are.
    pub level: Level,
    /// The observation point of its rows.
    pub node: String,
    /// The begin of its first window, nanoseconds since the epoch.
    pub first_ns: u64,
    /// The begin of its last window.
    pub last_ns: u64,
    /// The length of its windows, nanoseconds.
    pub window_ns: u64,
    /// Its rows.
    pub rows: u64,
    /// What the keys of its rows consist of.
    pub key: KeySpec,
}

impl KeptFile {
    /// Whether a row of it may count in a time.
    pub(crate) fn may_have(&self, period: Period) -> bool {
        self.first_ns < period.to_ns && self.last_ns >= period.from_ns
    }
}
