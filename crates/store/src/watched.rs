//! The times that were watched and are stored: what the manifest tells of time, besides files.

use crate::level::HOUR;
use rusqlite::Row;

/// The longest time between the last packet of a run and its end, nanoseconds: after that its times are not those of the clock.
const MOST_QUIET: u64 = 48 * HOUR;

/// The kind of measurement that watched a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasurementKind {
    /// A measurement by the clock.
    Live,
    /// A recording, such as a capture: the time around it was watched by no one.
    Recorded,
    /// A version that did not note it.
    Unknown,
}

impl MeasurementKind {
    fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Recorded => "recorded",
            Self::Unknown => "unknown",
        }
    }
}

/// The reason why a time is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstored {
    /// The writer had ended.
    Stopped,
    /// The writer was killed, or writes still.
    Killed,
    /// The writer had ended before what it read from.
    Unread,
    /// The disk was full.
    DiskFull,
    /// Writing failed for another reason.
    WriteFailed,
}

impl Unstored {
    const ALL: [Self; 5] = [Self::Stopped, Self::Killed, Self::Unread, Self::DiskFull, Self::WriteFailed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Killed => "killed",
            Self::Unread => "unread",
            Self::DiskFull => "disk_full",
            Self::WriteFailed => "write_failed",
        }
    }

    /// The reason behind a line about a write that failed.
    pub(crate) fn from_fault(reason: &str) -> Self {
        // The numbers of ENOSPC and EDQUOT, as the standard library prints them, and the words of SQLite.
        let is_full =
            ["(os error 28)", "(os error 122)", "disk is full"].iter().any(|text| reason.contains(text));
        if is_full { Self::DiskFull } else { Self::WriteFailed }
    }
}

/// A time of a node, by one run: it was watched, or it was watched and could not be written. The first of a run that has not ended is of no
/// length, and tells that the run has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedTime {
    /// The number of the entry in the manifest.
    pub number: u64,
    /// The number of the first entry of the run.
    pub run: u64,
    /// The node.
    pub node: String,
    /// The kind of measurement; `None`: the time was watched and could not be written.
    pub by: Option<MeasurementKind>,
    /// The begin of the time, nanoseconds since the epoch; of a recording's begin it is 0, for it is not known which time follows.
    pub first_ns: u64,
    /// The first instant after the time.
    pub end_ns: u64,
    /// The reason why nothing of the run follows, or is not stored.
    pub why: Unstored,
}

impl WatchedTime {
    /// The columns that [`WatchedTime::from_row`] reads.
    pub(crate) const COLUMNS: &str = "number, run, node, kind, first_ns, end_ns, why";

    /// Returns true if the entry tells that its run has begun, and nothing else.
    pub fn is_begin(&self) -> bool {
        self.first_ns == self.end_ns
    }

    /// Returns the name of the entry's kind in the manifest.
    pub(crate) fn kind(&self) -> &'static str {
        self.by.map_or("lost", MeasurementKind::name)
    }

    /// Reads a row of the manifest. `None` if it is of a kind that is not known.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (kind, why): (String, String) = (row.get(3)?, row.get(6)?);
        let watchers =
            [MeasurementKind::Live, MeasurementKind::Recorded, MeasurementKind::Unknown].into_iter();
        let by = watchers.map(Some).chain([None]).find(|by| by.map_or("lost", MeasurementKind::name) == kind);
        let mut reasons = Unstored::ALL.into_iter();
        let (Some(by), Some(why)) = (by, reasons.find(|known| known.name() == why)) else { return Ok(None) };
        let number = |at| row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or(0));
        Ok(Some(Self {
            number: number(0)?,
            run: number(1)?,
            node: row.get(2)?,
            by,
            first_ns: number(4)?,
            end_ns: number(5)?,
            why,
        }))
    }
}

/// A run that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunBegin {
    /// The number of the run's first entry.
    pub run: u64,
    /// The node.
    pub node: String,
    /// The source that the run reads; `None` if that cannot be read again.
    pub source: Option<String>,
}

/// The times that one run of a node has watched, until the manifest has them.
#[derive(Debug)]
pub(crate) struct Ledger {
    node: String,
    by: MeasurementKind,
    run: Option<u64>,
    /// The begin of the run, if the manifest does not say yet that it has begun.
    begin: Option<RunBegin>,
    /// The last time that was watched and the last that was lost. What is watched without a break is one.
    now: Option<WatchedTime>,
    lost: Option<WatchedTime>,
    /// The entries that the manifest does not have as they are now.
    changed: Vec<WatchedTime>,
    /// The reason why nothing of the run follows, if it is over.
    ended: Option<Unstored>,
}

impl Ledger {
    pub(crate) fn new(node: &str, by: MeasurementKind) -> Self {
        let (run, begin, now, lost, changed, ended) = Default::default();
        Self { node: node.to_owned(), by, run, begin, now, lost, changed, ended }
    }

    /// Begins the run at this time of the clock. If it is killed before it has stored anything, nothing else tells of it.
    pub(crate) fn begin(&mut self, source: Option<&str>, clock_ns: u64, number: u64) {
        let at = if self.by == MeasurementKind::Live { clock_ns } else { 0 };
        let entry = self.entry([at, at], Some(self.by), Unstored::Killed, &mut || number);
        self.begin =
            Some(RunBegin { run: entry.run, node: entry.node.clone(), source: source.map(str::to_owned) });
        self.change(&entry);
    }

    /// Adds a time that was watched. `number` gives the number of a new entry.
    pub(crate) fn watched(&mut self, [first_ns, end_ns]: [u64; 2], number: &mut dyn FnMut() -> u64) {
        // A live clock that was set back to before all that it has watched says nothing of the time in between.
        let is_before = |now: &WatchedTime| self.by == MeasurementKind::Live && end_ns < now.first_ns;
        if let Some(mut now) = self.now.take().filter(|now| !is_before(now)) {
            if first_ns < now.first_ns || now.end_ns < end_ns {
                now.first_ns = now.first_ns.min(first_ns);
                now.end_ns = now.end_ns.max(end_ns);
                self.change(&now);
            }
            self.now = Some(now);
            return;
        }
        let now = self.entry([first_ns, end_ns], Some(self.by), Unstored::Killed, number);
        self.change(&now);
        self.now = Some(now);
    }

    /// Adds a time that was watched, and could not be written.
    pub(crate) fn lost(&mut self, time: [u64; 2], why: Unstored, number: &mut dyn FnMut() -> u64) {
        self.watched(time, number);
        let [first_ns, end_ns] = time;
        let follows =
            |lost: &WatchedTime| lost.why == why && (lost.first_ns..=lost.end_ns).contains(&first_ns);
        let lost = match self.lost.take().filter(follows) {
            Some(lost) => WatchedTime { end_ns: lost.end_ns.max(end_ns), ..lost },
            None => self.entry(time, None, why, number),
        };
        self.change(&lost);
        self.lost = Some(lost);
    }

    /// Returns until when a run that reads a recording has watched; `None` where it is over, and of a live one.
    pub(crate) fn read_until(&self) -> Option<u64> {
        let is_reading = self.by == MeasurementKind::Recorded && self.ended.is_none();
        is_reading.then(|| self.now.as_ref().map_or(0, |now| now.end_ns))
    }

    /// Ends the run; nothing of it follows for this reason. What it measures by the clock, which has this time, has had no packet since its last
    /// window.
    pub(crate) fn end(&mut self, clock_ns: u64, why: Unstored) {
        if self.ended.is_some() {
            return;
        }
        self.ended = Some(why);
        let quiet_since =
            |now: &WatchedTime| clock_ns.checked_sub(now.end_ns).is_some_and(|quiet| quiet < MOST_QUIET);
        let mut last = self.now.take();
        if let Some(now) = last.as_mut().filter(|now| self.by == MeasurementKind::Live && quiet_since(now)) {
            now.end_ns = clock_ns;
            self.change(now);
        }
        self.now = last;
    }

    /// Returns the changes that the manifest is to take, the run whose end it is to note, with the reason, and the run whose begin it is to
    /// note.
    pub(crate) fn changes(&self) -> (&[WatchedTime], Option<(u64, Unstored)>, Option<&RunBegin>) {
        (&self.changed, self.run.zip(self.ended), self.begin.as_ref())
    }

    /// Forgets the changes, which the manifest has.
    pub(crate) fn settle(&mut self) {
        self.changed.clear();
        self.begin = None;
        if self.ended.is_some() {
            self.run = None;
        }
    }

    fn entry(
        &mut self,
        [first_ns, end_ns]: [u64; 2],
        by: Option<MeasurementKind>,
        why: Unstored,
        number: &mut dyn FnMut() -> u64,
    ) -> WatchedTime {
        let number = number();
        let run = *self.run.get_or_insert(number);
        WatchedTime { number, run, node: self.node.clone(), by, first_ns, end_ns, why }
    }

    fn change(&mut self, entry: &WatchedTime) {
        match self.changed.iter_mut().find(|known| known.number == entry.number) {
            Some(known) => known.clone_from(entry),
            None => self.changed.push(entry.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_known_by_what_the_system_and_sqlite_say() {
        for number in [28, 122] {
            let error = std::io::Error::from_raw_os_error(number);
            assert_eq!(Unstored::from_fault(&format!("x: {error}")), Unstored::DiskFull, "{error}");
        }
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        let full = rusqlite::Error::SqliteFailure(full, None).to_string();
        assert_eq!(Unstored::from_fault(&full), Unstored::DiskFull, "{full}");
        let error = std::io::Error::from_raw_os_error(5);
        assert_eq!(Unstored::from_fault(&error.to_string()), Unstored::WriteFailed);
    }

    #[test]
    fn what_goes_on_is_one_entry() {
        let mut next = 0;
        let mut number = || {
            next += 1;
            next
        };
        let mut ledger = Ledger::new("n", MeasurementKind::Live);
        ledger.watched([100, 110], &mut number);
        ledger.watched([110, 120], &mut number);
        ledger.lost([120, 130], Unstored::DiskFull, &mut number);
        ledger.lost([130, 140], Unstored::DiskFull, &mut number);
        ledger.watched([140, 150], &mut number);
        let times = |ledger: &Ledger| {
            let (changed, ..) = ledger.changes();
            changed
                .iter()
                .map(|one| (one.number, one.first_ns, one.end_ns, one.by.is_none()))
                .collect::<Vec<_>>()
        };
        assert_eq!(times(&ledger), [(1, 100, 150, false), (2, 120, 140, true)]);
        ledger.settle();
        assert_eq!(times(&ledger), []);
        // The clock was set back to before all of it.
        ledger.watched([50, 60], &mut number);
        ledger.end(75, Unstored::Stopped);
        assert_eq!(times(&ledger), [(3, 50, 75, false)]);
        assert_eq!(ledger.changes().1, Some((1, Unstored::Stopped)));
        ledger.end(90, Unstored::Unread);
        assert_eq!(times(&ledger), [(3, 50, 75, false)]);
    }
}
