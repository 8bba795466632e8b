//! The contents of a flow file.

use super::WithoutKey;
use crate::{RecordedWindows, Shortfall};
use flow::Share;
use packet::KeySpec;
use std::collections::BTreeSet;

/// The contents of a flow file, as far as they are known before its rows are read.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// True if the rows are of windows: each counts in the window that it names. Else they are flow records, each of which counts in the window
    /// of its `ltime`.
    pub has_windows: bool,
    /// Length of the windows, nanoseconds, where the file tells it.
    pub window_ns: Option<u64>,
    /// The windows, and what is known of them besides their rows, where the file tells it.
    pub windows: Option<RecordedWindows>,
    /// Packets that are in no row, because they found no place in the table, if there are any. When they came is not known.
    pub without_place: Option<WithoutKey>,
    /// True if the columns are those of a measurement of Edison: a row that tells nothing of its key is the record `other`.
    pub is_measured: bool,
    /// The members of the keys.
    pub key: KeySpec,
    /// Names of the fields that rows have, other than members of the key.
    pub fields: BTreeSet<&'static str>,
    /// Statistics of packets, by the names of their columns.
    pub statistics: Vec<String>,
    /// The optional parts that rows have.
    pub tracked: flow::TrackedParts,
    /// Columns that are not read, each with the reason.
    pub unread: Vec<(String, String)>,
    /// The observation point, where the file tells that all rows are of one.
    pub node: Option<String>,
    /// True if only a sample of the packets was counted, as far as the file tells it: counters are those of the sample.
    pub sampled: bool,
    /// The share by which packets were sampled, where the file tells one of all its records.
    pub share: Option<Share>,
    /// The shortfall: what the measurement of the flow records lacks, as far as the file tells it. Of window rows `windows` tells it.
    pub shortfall: Shortfall,
    /// The number of rows, where it is known.
    pub rows: Option<u64>,
    /// The parts that can be read one by one.
    pub parts: Vec<FilePart>,
}

impl Contents {
    /// Returns whether each row is known to be of a flow, because in each part there is a member of the key that all its rows tell.
    pub fn have_all_keys(&self) -> bool {
        // Of packets without a VLAN it is null.
        let is_told = |name: &str| name != "vlan" && self.key.columns().any(|member| member == name);
        self.parts.iter().all(|part| part.ranges.iter().any(|(name, _)| is_told(name)))
    }

    /// Returns true if the file tells nothing of its columns, because it has no row: whatever is asked of them, it lacks none.
    pub fn is_blank(&self) -> bool {
        self.rows == Some(0)
            && self.fields.is_empty()
            && self.key.columns().next().is_none()
            && self.unread.is_empty()
    }
}

/// A part of a file: a row group, or all of it.
#[derive(Clone, Debug, Default)]
pub struct FilePart {
    /// The number of rows in the part, where it is known.
    pub rows: Option<u64>,
    /// The size of the part, bytes.
    pub bytes: u64,
    /// The times at which the first and the last row of the part count, nanoseconds since the epoch, where they are known.
    pub times: Option<[u64; 2]>,
    /// The least and the greatest value of fields, by the name of the field, where they are known. A row may lack the value.
    pub ranges: Vec<(&'static str, ValueRange)>,
}

/// The values of a field in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueRange {
    /// Numbers from the first to the second.
    Numbers(u64, u64),
    /// Addresses from the first to the second; IPv4 as mapped ones.
    Addresses(u128, u128),
}

impl Contents {
    /// Takes note of a share that the file tells of its records, as text; an empty one tells nothing. What is no share, or differs from the
    /// one before, says that packets were left out, and not how many.
    pub(crate) fn sampled_by(&mut self, share: &str) {
        let share = share.trim();
        if share.is_empty() {
            return;
        }
        let told = share.parse().ok().and_then(Share::from_probability);
        let is_first = !self.sampled && self.share.is_none();
        self.share = told.filter(|told| is_first || self.share == Some(*told));
        self.sampled = self.share != Some(Share::ALL);
    }
}
