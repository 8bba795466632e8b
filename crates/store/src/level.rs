//! Levels of what is stored: rows, records, and rollups of rows.

use std::fmt;

/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Nanoseconds of an hour: a folder has the files of one.
pub(crate) const HOUR: u64 = 3600 * SECOND;

/// A kind of files in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Window rows as they were measured.
    Rows,
    /// Flow records.
    Flows,
    /// Window rows without ports, of windows of a minute.
    Minute,
    /// Window rows without ports, of windows of an hour.
    Hour,
}

impl Level {
    /// The complete list of levels.
    pub const ALL: [Self; 4] = [Self::Rows, Self::Flows, Self::Minute, Self::Hour];

    /// Returns the name of the level in the manifest and in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Flows => "flows",
            Self::Minute => "1min",
            Self::Hour => "1h",
        }
    }

    /// Returns the level of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Returns the folder of the level in the store.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Flows => "flows",
            Self::Minute => "rollup=1min",
            Self::Hour => "rollup=1h",
        }
    }

    /// The length of a rollup's windows, nanoseconds.
    pub fn window_ns(self) -> Option<u64> {
        match self {
            Self::Rows | Self::Flows => None,
            Self::Minute => Some(60 * SECOND),
            Self::Hour => Some(HOUR),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
