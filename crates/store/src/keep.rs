//! Limits of what is kept.

use crate::Level;
use notation::{SpecError, bytes, duration, pairs, unknown_key};
use std::str::FromStr;

/// The least size that a store can hold to: what is being written counts too.
const LEAST: u64 = 16 << 20;
const DAY: u64 = 24 * crate::level::HOUR;

/// The ages up to which files are kept, and the size that all of them may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRetention {
    /// The greatest ages in the order of [`Level::ALL`], nanoseconds; `None`: nothing of the level is stored.
    ages: [Option<u64>; 4],
    /// The greatest size of all files together, bytes; `None`: half of the file system, 100 GB at the most.
    pub size: Option<u64>,
}

impl Default for StoreRetention {
    fn default() -> Self {
        Self { ages: [1, 7, 30, 365].map(|days| Some(days * DAY)), size: None }
    }
}

impl StoreRetention {
    /// Returns the time that files of a level are kept, nanoseconds; `None`: there are none.
    pub fn age(&self, level: Level) -> Option<u64> {
        let at = Level::ALL.iter().position(|known| *known == level);
        at.and_then(|at| self.ages[at])
    }

    /// Returns the same limits with another age of a level.
    #[must_use]
    pub fn with_age(mut self, level: Level, age_ns: Option<u64>) -> Self {
        for (known, age) in Level::ALL.iter().zip(&mut self.ages) {
            if *known == level {
                *age = age_ns;
            }
        }
        self
    }

    /// Returns the rollup that takes the rows of windows of this length from a level.
    pub(crate) fn next(&self, level: Level, window_ns: u64) -> Option<Level> {
        let above: &[Level] = match level {
            Level::Rows => &[Level::Minute, Level::Hour],
            Level::Minute => &[Level::Hour],
            Level::Flows | Level::Hour => &[],
        };
        let fits = |level: &&Level| {
            level.window_ns().is_some_and(|length| window_ns != 0 && length.is_multiple_of(window_ns))
        };
        above.iter().filter(|level| self.age(**level).is_some()).find(fits).copied()
    }
}

impl FromStr for StoreRetention {
    type Err = SpecError;

    /// Reads `rows=1d,flows=7d,1min=30d,1h=1y,size=100G`; what is not named is as by default. `0`: nothing of the level is stored.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut keep = Self::default();
        for (key, value) in pairs(text)? {
            if key == "size" {
                let size = bytes(value).map_err(|error| SpecError::new(format!("size: {error}")))?;
                if size < LEAST {
                    return Err(SpecError::new("size: a store has 16MiB at least"));
                }
                keep.size = Some(size);
                continue;
            }
            let Some(level) = Level::from_name(key) else {
                return Err(unknown_key("unknown key", key, &["rows", "flows", "1min", "1h", "size"]));
            };
            let age = match value {
                "0" if level == Level::Rows => {
                    return Err(SpecError::new(
                        "rows: without rows there is nothing to roll up; give a duration, as rows=1h",
                    ));
                }
                "0" => None,
                value => {
                    let age =
                        duration(value).map_err(|error| SpecError::new(format!("{key}: {error}, or 0")))?;
                    Some(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX))
                }
            };
            keep = keep.with_age(level, age);
        }
        Ok(keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::{HOUR, SECOND};

    #[test]
    fn what_is_not_named_is_as_usual() {
        let usual: StoreRetention = "".parse().expect("nothing");
        assert_eq!(usual, StoreRetention::default());
        assert_eq!("rows=1d,flows=1w,1min=30d,1h=1y".parse(), Ok(usual));
        let keep: StoreRetention = "rows=90min,1min=0,size=20MiB".parse().expect("good");
        let ages = Level::ALL.map(|level| keep.age(level));
        assert_eq!(ages, [Some(3 * HOUR / 2), Some(7 * DAY), None, Some(365 * DAY)]);
        assert_eq!(keep.size, Some(20 << 20));
    }

    #[test]
    fn a_mistake_is_named() {
        for (text, error) in [
            ("row=1d", "unknown key \"row\": did you mean \"rows\"? There are: rows, flows, 1min, 1h, size"),
            ("rows=0", "rows: without rows there is nothing to roll up; give a duration, as rows=1h"),
            ("flows=-1d", "flows: '-1d' is not a duration such as 500ms, 10s, 30min or 2h, or 0"),
            ("size=1k", "size: a store has 16MiB at least"),
            ("rows=1d,rows=2d", "rows is given twice"),
        ] {
            assert_eq!(text.parse::<StoreRetention>().expect_err("refused").to_string(), error);
        }
    }

    #[test]
    fn rollups_are_of_windows_that_divide_theirs() {
        let next = |keep: StoreRetention, level, window| keep.next(level, window);
        let usual = StoreRetention::default();
        assert_eq!(next(usual, Level::Rows, 10 * SECOND), Some(Level::Minute));
        assert_eq!(next(usual, Level::Rows, 100_000_000), Some(Level::Minute));
        assert_eq!(next(usual, Level::Rows, 300 * SECOND), Some(Level::Hour));
        assert_eq!(next(usual, Level::Rows, 7 * SECOND), None);
        assert_eq!(next(usual, Level::Rows, 2 * HOUR), None);
        assert_eq!(next(usual, Level::Minute, 60 * SECOND), Some(Level::Hour));
        assert_eq!(next(usual, Level::Hour, HOUR), None);
        assert_eq!(next(usual, Level::Flows, 0), None);
        let hours = usual.with_age(Level::Minute, None);
        assert_eq!(next(hours, Level::Rows, SECOND), Some(Level::Hour));
        assert_eq!(next(hours.with_age(Level::Hour, None), Level::Rows, SECOND), None);
    }
}
