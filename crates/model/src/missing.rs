//! A time of which nothing is known.

use crate::{Span, format_time};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why nothing is known of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MissingReason {
    /// No measurement had begun.
    NotBegun,
    /// The measurement had ended, and no other had begun.
    Stopped,
    /// The measurement was killed: neither what followed nor what it had not stored yet is there.
    Killed,
    /// The disk had no room.
    DiskFull,
    /// The measurement could not be written for another reason.
    WriteFailed,
    /// The file that had it is damaged.
    Damaged,
    /// The measurement is older than what is kept.
    Retention,
    /// The probe sent nothing: it did not run, was not reached, or was killed before it had kept what it measured.
    NotSent,
    /// The probe dropped some of it because its spool was full.
    SpoolFull,
    /// The measurement came later than it is waited for.
    TooLate,
}

impl MissingReason {
    /// The list of all reasons.
    pub const ALL: [Self; 10] = [
        Self::NotBegun,
        Self::Stopped,
        Self::Killed,
        Self::DiskFull,
        Self::WriteFailed,
        Self::Damaged,
        Self::Retention,
        Self::NotSent,
        Self::SpoolFull,
        Self::TooLate,
    ];

    /// The name in JSON and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotBegun => "not_begun",
            Self::Stopped => "stopped",
            Self::Killed => "killed",
            Self::DiskFull => "disk_full",
            Self::WriteFailed => "write_failed",
            Self::Damaged => "damaged",
            Self::Retention => "retention",
            Self::NotSent => "not_sent",
            Self::SpoolFull => "spool_full",
            Self::TooLate => "too_late",
        }
    }

    /// Returns the reason in words that follow "missing".
    pub fn words(self) -> &'static str {
        match self {
            Self::NotBegun => "no measurement had begun",
            Self::Stopped => "the measurement was stopped",
            Self::Killed => "the measurement was killed",
            Self::DiskFull => "the disk was full",
            Self::WriteFailed => "it could not be written",
            Self::Damaged => "a file is damaged",
            Self::Retention => "it is kept no more",
            Self::NotSent => "the probe sent nothing",
            Self::SpoolFull => "the spool of the probe was full",
            Self::TooLate => "it came too late",
        }
    }
}

impl fmt::Display for MissingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A time of which nothing is known, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missing {
    /// The time.
    #[serde(flatten)]
    pub span: Span,
    /// The reason.
    pub reason: MissingReason,
}

impl Missing {
    /// Adds a time to a list, to its last one where that goes on for the same reason.
    pub fn push(list: &mut Vec<Self>, more: Self) {
        match list.last_mut() {
            Some(last) if last.reason == more.reason && last.span.end_ns >= more.span.start_ns => {
                last.span.start_ns = last.span.start_ns.min(more.span.start_ns);
                last.span.end_ns = last.span.end_ns.max(more.span.end_ns);
            }
            _ => list.push(more),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { start_ns, end_ns } = self.span;
        write!(f, "{} to {} ({})", format_time(start_ns), format_time(end_ns), self.reason.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(start_ns: u64, end_ns: u64, reason: MissingReason) -> Missing {
        Missing { span: Span { start_ns, end_ns }, reason }
    }

    #[test]
    fn a_time_that_goes_on_for_the_same_reason_is_one() {
        use MissingReason::{DiskFull, Killed};
        let mut list = Vec::new();
        for more in [
            missing(0, 10, Killed),
            missing(10, 20, Killed),
            missing(20, 30, DiskFull),
            missing(31, 40, DiskFull),
        ] {
            Missing::push(&mut list, more);
        }
        assert_eq!(list, [missing(0, 20, Killed), missing(20, 30, DiskFull), missing(31, 40, DiskFull)]);
    }

    #[test]
    fn the_name_is_that_of_json() {
        for reason in MissingReason::ALL {
            assert_eq!(serde_json::to_value(reason).expect("JSON"), reason.name());
        }
    }
}
