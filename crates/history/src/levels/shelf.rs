//! The content of a store, and the choice of what answers a question.

use super::cover::{RollupCoverage, cover};
use super::exact::{fits, keeps};
use super::reading::{LevelPeriod, ScanPlan, lost};
use super::times::{NodeTimes, unstored_runs};
use crate::facts::watched_of;
use crate::files::{StoredTimes, common_keys, span_of_file};
use crate::node_spans::{NodeSpans, union};
use crate::question::{AnswerSetting, Period, Question};
use crate::whole::{Cut, windows_at};
use model::Span;
use packet::KeySpec;
use record::read::{FlowFile, ReadError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Catalog, Level, MeasurementKind, StoredFile, WatchedTime};

/// The levels of window rows, the finest first.
const LEVELS: [Level; 3] = [Level::Rows, Level::Minute, Level::Hour];

/// The content of a store when its manifest was read, without flow records.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    files: Vec<StoredFile>,
    /// The time up to which rollups are complete, by level and node.
    complete: BTreeMap<(Level, String), u64>,
    /// The time up to which levels have dropped files, by level and node.
    dropped: BTreeMap<(Level, String), u64>,
    /// The times that were watched.
    watched: Vec<WatchedTime>,
    /// The number from which on the first entries of runs are of runs that go on; `None` if no process writes the store.
    writer: Option<u64>,
    /// The damage of the manifest: it may lack files, or have wrong ones.
    damage: Option<ReadError>,
}

impl Shelf {
    /// Reads what a manifest names at one moment.
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn open(catalog: &Catalog) -> Result<Self, String> {
        // What was killed is not written: that is looked at first.
        let is_written = catalog.is_written();
        catalog.at_once(|catalog| {
            let mut shelf = Self { watched: catalog.watched()?.unwrap_or_default(), ..Self::default() };
            if is_written || catalog.is_written() {
                shelf.writer = Some(catalog.last_writer()?);
            }
            if !catalog.is_right()? {
                let reason = "its records have another checksum than when they were written";
                shelf.damage = Some(ReadError::damaged(catalog.path(), reason));
            }
            for level in LEVELS {
                shelf.files.extend(catalog.files(level, None)?);
            }
            for node in catalog.nodes()? {
                for level in LEVELS {
                    let until = catalog.dropped_until(level, &node)?;
                    shelf.dropped.extend(until.map(|until| ((level, node.clone()), until)));
                }
                for level in [Level::Minute, Level::Hour] {
                    let until = catalog.complete_until(level, &node)?;
                    shelf.complete.extend(until.map(|until| ((level, node.clone()), until)));
                }
            }
            Ok(shelf)
        })
    }

    /// Returns the damage of the manifest, if any: it may lack files, or have wrong ones.
    pub fn damage(&self) -> Option<&ReadError> {
        self.damage.as_ref()
    }

    /// Returns true if the manifest names a file.
    pub fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    /// Returns the number of rows, as the manifest tells it.
    pub fn rows(&self) -> u64 {
        self.files_of_level(Level::Rows).map(|file| file.rows).fold(0, u64::saturating_add)
    }

    /// The files of rows that count in a time.
    pub fn rows_of(&self, period: Period) -> impl Iterator<Item = &Path> {
        self.files_of_level(Level::Rows)
            .filter(move |file| may_have(file, period))
            .map(|file| file.path.as_path())
    }

    /// The times of its nodes of which nothing is stored, between the first window and the last that were watched.
    pub fn missing(&self) -> BTreeMap<String, Vec<Span>> {
        let nodes = self.nodes().into_iter().map(|node| {
            let entries: Vec<&WatchedTime> = self.watched.iter().filter(|entry| entry.node == node).collect();
            // What retention has dropped is no part of it.
            let times = NodeTimes::new(&entries, None, &[Period::ALL], self.writer);
            let missing = times.missing_in(times.asked());
            (node.to_owned(), missing.into_iter().map(|missing| missing.span).collect())
        });
        nodes.collect()
    }

    /// Returns the fields that all keys of its rows have; of its rollups where it has no rows. The 5-tuple where it has nothing.
    pub fn key(&self) -> KeySpec {
        let rows = common_keys(self.files_of_level(Level::Rows).map(key_of)).ok().flatten();
        let all = || common_keys(self.files.iter().map(key_of)).ok().flatten();
        rows.or_else(all).unwrap_or(KeySpec::FIVE_TUPLE)
    }

    /// The lengths of the windows of its rows, nanoseconds.
    pub fn windows_ns(&self) -> BTreeSet<u64> {
        self.files_of_level(Level::Rows).map(|file| file.window_ns).collect()
    }

    /// Returns the shelf without the files of other nodes than this one, if there is one.
    pub(super) fn only(mut self, node: Option<&str>) -> Self {
        self.files.retain(|file| node.is_none_or(|node| file.node == node));
        self.watched.retain(|entry| node.is_none_or(|node| entry.node == node));
        self
    }

    /// The nodes of its files, and those of which nothing is stored because it could not be, or because their runs were killed.
    pub fn nodes(&self) -> BTreeSet<&str> {
        let of_files = self.files.iter().map(|file| file.node.as_str());
        let entries: Vec<&WatchedTime> = self.watched.iter().collect();
        let unstored = unstored_runs(&entries, self.writer);
        let lost = entries.iter().filter(|entry| entry.by.is_none()).copied();
        of_files.chain(unstored.chain(lost).map(|entry| entry.node.as_str())).collect()
    }

    /// The time of each node that was watched. Where that was not noted, it is the time from the first packet of its files to the last, or that of their
    /// windows.
    pub fn spans(&self) -> NodeSpans {
        let mut spans = NodeSpans::default();
        for node in self.files.iter().map(|file| &*file.node).collect::<BTreeSet<_>>() {
            let of_node: Vec<&StoredFile> = self.files.iter().filter(|file| file.node == node).collect();
            let span = self.watched_of_node(node, &of_node).or_else(|| span_of_node(&of_node));
            span.into_iter().for_each(|span| spans.add(Some(Arc::from(node)), span));
        }
        spans
    }

    /// The time of a node that was watched, if all of it was noted.
    fn watched_of_node(&self, node: &str, files: &[&StoredFile]) -> Option<Span> {
        let entries = self.watched.iter().filter(|entry| entry.node == node && !entry.is_begin());
        if entries.clone().any(|entry| entry.by == Some(MeasurementKind::Unknown)) {
            return None;
        }
        let entries = entries.filter(|entry| entry.by.is_some());
        let is_live = entries.clone().any(|entry| entry.by == Some(MeasurementKind::Live));
        let noted =
            entries.map(|entry| Span { start_ns: entry.first_ns, end_ns: entry.end_ns }).reduce(union)?;
        if !is_live {
            return Some(noted);
        }
        // A live run notes up to when it ran. Its last window tells up to when it watched.
        let rows = files.iter().copied().filter(|file| file.level == Level::Rows);
        let last = rows.max_by_key(|file| end_of(file));
        let end_ns = last.and_then(watched_of_file).map_or(noted.end_ns, |span| span.end_ns);
        Some(Span { end_ns: noted.end_ns.min(end_ns.max(noted.start_ns)), ..noted })
    }

    /// Returns the files that answer a question: those of the coarsest level that is exact for it, and is no coarser than `coarsest`, and of
    /// finer ones where that one has no whole window.
    pub fn choose(&self, question: &Question, coarsest: Level, setting: &AnswerSetting) -> ScanPlan {
        for level in [Level::Hour, Level::Minute].into_iter().filter(|level| *level <= coarsest) {
            if !fits(&question.query, level) {
                continue;
            }
            let (reading, key) = self.reading(question, level);
            if let Some(key) = key
                && keeps(&question.query, key, setting)
            {
                return reading;
            }
        }
        self.reading(question, Level::Rows).0
    }

    /// Returns the files that cover a question's time, if levels up to `coarsest` are exact for it; and what the keys of all rollups among them
    /// have.
    pub(super) fn reading(&self, question: &Question, coarsest: Level) -> (ScanPlan, Option<KeySpec>) {
        let period = question.period.unwrap_or(Period::ALL);
        let nodes = self.nodes().into_iter().map(str::to_owned).collect();
        let mut reading = ScanPlan { nodes, ..ScanPlan::default() };
        let mut rollup_keys = Vec::new();
        let has_begin = question.period.is_some_and(|period| period.from_ns != 0);
        for node in self.nodes().into_iter().filter(|node| (question.runs_on)(Some(node))) {
            let of_node: Vec<&StoredFile> = self.files.iter().filter(|file| file.node == node).collect();
            let rollups: Vec<RollupCoverage> = [Level::Hour, Level::Minute]
                .into_iter()
                .filter(|level| *level <= coarsest)
                .filter_map(|level| self.complete(level, node, &of_node))
                .collect();
            let mut add = |level, period, is_wanted: &dyn Fn(&StoredFile) -> bool, lost: Option<Period>| {
                let is_of =
                    |file: &&&StoredFile| file.level == level && may_have(file, period) && is_wanted(file);
                let files: Vec<&StoredFile> = of_node.iter().filter(is_of).copied().collect();
                rollup_keys.extend(files.iter().filter(|_| level != Level::Rows).map(|file| key_of(file)));
                let files: Vec<_> = files.into_iter().map(|file| file.path.clone()).collect();
                if !files.is_empty() || lost.is_some() {
                    reading.pieces.push(LevelPeriod { node: node.to_owned(), level, period, files, lost });
                }
            };
            let kept_from = |level: Level| {
                let files = of_node.iter().filter(|file| file.level == level);
                let first = files.map(|file| file.first_ns).min().unwrap_or(u64::MAX);
                // Of what clocks that jumped have measured, later files may be dropped already.
                first.max(self.dropped.get(&(level, node.to_owned())).copied().unwrap_or(0))
            };
            let parts = cover(period, &rollups);
            let kept_part = |(level, part): &(Level, Period)| {
                let kept = Period { from_ns: part.from_ns.max(kept_from(*level)), ..*part };
                (!kept.is_empty()).then_some(kept)
            };
            let kept: Vec<Period> = parts.iter().filter_map(kept_part).collect();
            // Without a begin, the question begins with what is kept.
            let parts = parts.into_iter().filter_map(|part| {
                let period = if has_begin { Some(part.1) } else { kept_part(&part) };
                period.map(|period| (part.0, period))
            });
            for (level, period) in parts {
                add(level, period, &|_| true, lost(level, period, &of_node));
                // What was measured of that time after it was rolled up, by a clock that was set back.
                for finer in LEVELS.into_iter().filter(|finer| *finer < level) {
                    add(finer, period, &|file| !file.is_rolled, None);
                }
            }
            let begins_ns = kept.iter().map(|kept| kept.from_ns).min();
            if let Some(begins_ns) = begins_ns.filter(|_| !has_begin) {
                reading.begins_ns = Some(reading.begins_ns.map_or(begins_ns, |known| known.min(begins_ns)));
            }
            let entries: Vec<&WatchedTime> = self.watched.iter().filter(|entry| entry.node == node).collect();
            if !entries.is_empty() {
                let times = NodeTimes::new(&entries, question.period, &kept, self.writer);
                reading.times.insert(node.to_owned(), times);
            }
        }
        (reading, common_keys(rollup_keys).ok().flatten())
    }

    /// Returns which windows of rows a question's period cuts.
    pub(super) fn cut(&self, question: &Question) -> Option<Cut> {
        Cut::from_period(question.period?, &|time_ns| {
            let rows = self.files_of_level(Level::Rows).filter(|file| (question.runs_on)(Some(&file.node)));
            rows.flat_map(|file| self.cut_windows(file, time_ns)).collect()
        })
    }

    /// The windows of a file that a time cuts, of which both sides were watched.
    fn cut_windows(&self, file: &StoredFile, time_ns: u64) -> Vec<[u64; 2]> {
        if !(file.first_ns < time_ns && time_ns < end_of(file)) {
            return Vec::new();
        }
        let watched: Vec<&WatchedTime> =
            self.watched.iter().filter(|entry| entry.node == file.node && entry.by.is_some()).collect();
        let is_cut = |[begin_ns, end_ns]: &[u64; 2]| {
            let has = |from_ns: u64, to_ns: u64| {
                watched.is_empty()
                    || watched.iter().any(|entry| entry.first_ns < to_ns && from_ns < entry.end_ns)
            };
            has(*begin_ns, time_ns) && has(time_ns, *end_ns)
        };
        // What cannot be read is named when the question is answered.
        let open = FlowFile::open(&file.path).ok();
        open.iter().flat_map(|open| windows_at(time_ns, open.contents())).filter(is_cut).collect()
    }

    /// The time of which a rollup has all rows of a node that were measured in time.
    fn complete(&self, level: Level, node: &str, of_node: &[&StoredFile]) -> Option<RollupCoverage> {
        let until_ns = *self.complete.get(&(level, node.to_owned()))?;
        let from_ns = of_node.iter().filter(|file| file.level == level).map(|file| file.first_ns).min()?;
        Some(RollupCoverage { level, from_ns, until_ns })
    }

    /// The nodes and the times of the files of a reading.
    pub(super) fn times_of(&self, reading: &ScanPlan) -> StoredTimes {
        let read: BTreeSet<PathBuf> = reading.files().map(|(path, _)| path).collect();
        let files = self.files.iter().filter(|file| read.contains(&file.path));
        let time = |file: &StoredFile| Span { start_ns: file.first_ns, end_ns: end_of(file) };
        files.map(|file| (file.path.clone(), (file.node.clone(), time(file)))).collect()
    }

    fn files_of_level(&self, level: Level) -> impl Iterator<Item = &StoredFile> + Clone {
        self.files.iter().filter(move |file| file.level == level)
    }
}

/// The time that a node's files tell: that of windows that were watched, and that of packets.
fn span_of_node(files: &[&StoredFile]) -> Option<Span> {
    let mut edges: Vec<&StoredFile> = Vec::new();
    for level in LEVELS {
        // Files of rows tell of windows without any.
        let tells = |file: &&StoredFile| file.level == level && (file.rows != 0 || level == Level::Rows);
        let of_level = files.iter().copied().filter(tells);
        let first = of_level.clone().map(|file| file.first_ns).min();
        let last = of_level.clone().map(end_of).max();
        // The first packet is in a window that begins first.
        let is_edge = |file: &&StoredFile| Some(file.first_ns) == first || Some(end_of(file)) == last;
        edges.extend(of_level.filter(is_edge));
    }
    let of_windows = |file: &&StoredFile| Span { start_ns: file.first_ns, end_ns: end_of(file) };
    let told = |file: &StoredFile| match file.level {
        Level::Rows => watched_of_file(file).or_else(|| span_of_file(&file.path)),
        _ => span_of_file(&file.path),
    };
    let told = edges.into_iter().filter_map(told).reduce(union);
    told.or_else(|| files.iter().map(of_windows).reduce(union))
}

/// The time of its windows that was watched, if a file can be read and tells it.
fn watched_of_file(file: &StoredFile) -> Option<Span> {
    watched_of(FlowFile::open(&file.path).ok()?.contents())
}

/// The key of a file's rows. One that cannot be read has nothing in common with any other.
fn key_of(file: &StoredFile) -> (KeySpec, &Path) {
    (KeySpec::parse(&file.key).unwrap_or(KeySpec::NOTHING), &file.path)
}

fn end_of(file: &StoredFile) -> u64 {
    file.last_ns.saturating_add(file.window_ns)
}

/// Returns true if a row of a file may count in a time.
fn may_have(file: &StoredFile, period: Period) -> bool {
    file.first_ns < period.to_ns && file.last_ns >= period.from_ns
}
