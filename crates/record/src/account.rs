//! The account of a measurement: what is known of it in addition to its records.

use crate::windows::join_remarks;
use crate::{WindowFacts, untold};
use flow::Untold;

/// Sums since the run began, given to writers at the end of each window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasurementTotals {
    /// Stream time, nanoseconds since the epoch: the window's end.
    pub time_ns: u64,
    /// Frames taken from the source.
    pub received: u64,
    /// Frames counted in a flow record.
    pub measured: u64,
    /// Frames that the source lost; `None` if it cannot know.
    pub lost: Option<u64>,
}

/// The time of a file of records that was watched, the losses in it, and the quality of estimates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// Packets that the source lost, as far as it knows.
    pub lost: u64,
    /// The reason why anything else is missing, such as the rest of a source that was not read to its end. Several reasons are separated by `;
    /// `.
    pub reason: Option<String>,
    /// Numbers of packets that did not tell a value, which is 0 in the records.
    pub untold: Untold,
    /// A remark that values are estimates, and how good they are.
    pub estimates: Option<String>,
    /// The time that was watched, nanoseconds since the epoch; `None` if it is not known. Packets that are in no record may have come before the
    /// first that is in one, or behind the last.
    pub watched: Option<[u64; 2]>,
}

impl Shortfall {
    /// Returns whether nothing is known to be missing or estimated.
    pub fn is_none(&self) -> bool {
        self.lost == 0 && self.reason.is_none() && self.untold.is_none() && self.estimates.is_none()
    }

    /// The names of its parts in the metadata of a Parquet file, behind `edison.`.
    pub(crate) const NAMES: [&str; 5] = ["lost", "lacks", "untold", "estimates", "watched"];

    /// Returns the names and values that a Parquet file has of it in its metadata.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static str, String)> {
        let lost = (self.lost != 0).then(|| self.lost.to_string());
        let untold = (!self.untold.is_none()).then(|| untold::to_text(&self.untold));
        let watched = self.watched.map(|[start_ns, end_ns]| format!("{start_ns},{end_ns}"));
        let values = [lost, self.reason.clone(), untold, self.estimates.clone(), watched];
        Self::NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)))
    }

    /// Reads the shortfall from metadata. `entry` returns a value by its name behind `edison.`.
    pub(crate) fn from_entries(entry: impl Fn(&str) -> Option<String>) -> Self {
        let untold = entry("untold").map(|text| untold::parse_text(&text)).unwrap_or_default();
        let lost = entry("lost").and_then(|lost| lost.parse().ok()).unwrap_or(0);
        let watched = entry("watched").and_then(|text| {
            let (start_ns, end_ns) = text.split_once(',')?;
            let [start_ns, end_ns] = [start_ns.parse().ok()?, end_ns.parse().ok()?];
            (start_ns <= end_ns).then_some([start_ns, end_ns])
        });
        Self { lost, reason: entry("lacks"), untold, estimates: entry("estimates"), watched }
    }

    /// Adds that of another time. A reason that is known is told once.
    pub fn add(&mut self, more: &Self) {
        self.lost = self.lost.saturating_add(more.lost);
        self.untold.add(&more.untold);
        join_remarks(&mut self.estimates, more.estimates.as_ref(), WindowFacts::ESTIMATES);
        let both = self.watched.into_iter().chain(more.watched);
        self.watched = both.reduce(|[start, end], [other, until]| [start.min(other), end.max(until)]);
        let Some(reason) = &more.reason else { return };
        match &mut self.reason {
            Some(known) if known.split("; ").any(|one| one == reason) => {}
            Some(known) => {
                known.push_str("; ");
                known.push_str(reason);
            }
            None => self.reason = Some(reason.clone()),
        }
    }
}
