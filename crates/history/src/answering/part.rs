//! The parts of files: their order, and the share of their rows that a period has.

use super::group::QuestionGroup;
use crate::files::FlowFiles;
use crate::question::Period;

/// A part of a file, in the order of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartPosition {
    pub(super) first: Option<u64>,
    pub(super) file: usize,
    pub(super) part: usize,
    pub(super) bytes: u64,
}

/// The bounds of what is read of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadExtent {
    /// The time whose rows are read of its file; `None` for all.
    pub(super) clip: Option<Period>,
    /// The times that its rows count at, the first and the last, where they are known.
    pub(super) times: Option<[u64; 2]>,
}

/// The share of a part's rows that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartSelection {
    All,
    None,
    /// The rows that count in a time.
    Within(Period),
}

impl ReadExtent {
    /// Returns the share of the part's rows that a period has.
    pub(super) fn share(self, period: Option<Period>) -> PartSelection {
        let both = match (period, self.clip) {
            (None, None) => return PartSelection::All,
            (Some(one), Some(other)) => one.both(other),
            (Some(one), None) | (None, Some(one)) => one,
        };
        match self.times {
            Some(times) if times.iter().all(|time| both.contains(*time)) => PartSelection::All,
            Some([first, last]) if first >= both.to_ns || last < both.from_ns => PartSelection::None,
            _ => PartSelection::Within(both),
        }
    }
}

impl FlowFiles {
    /// Returns true if some rows of a part are read and others are not, by their times.
    pub(super) fn reads_times(&self, groups: &[QuestionGroup<'_>]) -> bool {
        let mut parts = self.files.iter().zip(&self.clips).flat_map(|(file, clip)| {
            file.contents().parts.iter().map(move |part| ReadExtent { clip: *clip, times: part.times })
        });
        let is_cut = |bounds: ReadExtent, group: &QuestionGroup<'_>| {
            matches!(bounds.share(group.period), PartSelection::Within(_))
        };
        parts.any(|bounds| groups.iter().any(|group| is_cut(bounds, group)))
    }

    /// Returns the places of all parts, by their first times; those without times first, as their rows may be of any.
    pub(super) fn places(&self) -> Vec<PartPosition> {
        let mut places = Vec::new();
        for (file, open) in self.files.iter().enumerate() {
            let parts = open.contents().parts.iter().enumerate();
            places.extend(parts.map(|(number, part)| PartPosition {
                first: part.times.map(|[first, _]| first),
                file,
                part: number,
                bytes: part.bytes,
            }));
        }
        places.sort();
        places
    }
}
