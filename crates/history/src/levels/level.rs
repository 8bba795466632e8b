//! How coarse the rows of a file are.

/// How coarse the rows of a file are; the coarser is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Rows of the run's own windows.
    Rows,
    /// Rows of a minute, without ports.
    Minute,
    /// Rows of an hour, without ports.
    Hour,
}

impl Level {
    /// All, the coarsest first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Minute, Self::Rows];

    /// The name that manifests and answers have.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Minute => "1min",
            Self::Hour => "1h",
        }
    }

    /// The level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The length of a rollup's windows, nanoseconds; `None` of rows, whose windows are the run's.
    pub const fn length_ns(self) -> Option<u64> {
        match self {
            Self::Rows => None,
            Self::Minute => Some(60_000_000_000),
            Self::Hour => Some(3_600_000_000_000),
        }
    }
}
