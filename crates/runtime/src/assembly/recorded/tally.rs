//! The counts of what was read, and what was wrong with it.

use crate::exit::say;
use crate::verdict::ExitStatus;
use history::replay::{Replayed, Surveyed};
use notation::grouped;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The message of a replay that a signal ended.
pub(super) const STOPPED: &str = "stopped before the end";

/// The sums of what all nodes gave, and of what fired.
pub(super) struct RecordedTally(Mutex<ReplayCounts>);

struct ReplayCounts {
    /// The errors of files that could not be read, a line for each.
    errors: Vec<String>,
    is_stopped: bool,
    rows: u64,
    windows: u64,
    without_place: u64,
    /// Conditions that became true.
    fired: u64,
}

impl RecordedTally {
    /// Creates the tally with what is known before rows are replayed.
    pub(super) fn from_survey(surveyed: &Surveyed) -> Self {
        Self(Mutex::new(ReplayCounts {
            errors: surveyed.errors.iter().map(ToString::to_string).collect(),
            is_stopped: false,
            rows: 0,
            windows: 0,
            without_place: 0,
            fired: 0,
        }))
    }

    fn counts(&self) -> MutexGuard<'_, ReplayCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what a node gave.
    pub(super) fn add(&self, node: &Replayed) {
        let mut counts = self.counts();
        counts.errors.extend(node.errors.iter().map(ToString::to_string));
        counts.is_stopped |= node.is_stopped;
        counts.rows += node.rows;
        counts.windows += node.windows;
        counts.without_place = counts.without_place.saturating_add(node.without_place);
    }

    /// Counts a condition that became true.
    pub(super) fn fired(&self) {
        self.counts().fired += 1;
    }

    /// Returns what was read, in words for a terminal.
    pub(super) fn summary(&self, stories_dropped: u64) -> String {
        let ReplayCounts { fired, windows, rows, .. } = *self.counts();
        let fired = match fired {
            0 => "nothing would have fired".to_owned(),
            1 => "1 firing".to_owned(),
            fired => format!("{} firings", grouped(fired)),
        };
        let mut text = format!("{fired} in {} windows with {} rows\n", grouped(windows), grouped(rows));
        if stories_dropped != 0 {
            text += &format!("{} earlier stories are not shown\n", grouped(stories_dropped));
        }
        text
    }

    /// Adds what was wrong, and says what is in no row.
    pub(super) fn add_to(&self, verdict: &mut ExitStatus, has_reader_left: bool) {
        let ReplayCounts { errors, is_stopped, without_place, .. } = &mut *self.counts();
        if *without_place != 0 {
            say(&format!(
                "{} packets are in no row, as they found no place in the table: the windows that have them are partial",
                grouped(*without_place)
            ));
        }
        errors.sort();
        errors.dedup();
        let stopped = (*is_stopped && !has_reader_left).then(|| STOPPED.to_owned());
        verdict.lose(std::mem::take(errors).into_iter().chain(stopped).collect());
    }
}
