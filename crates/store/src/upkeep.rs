//! The thread that makes rollups, compacts, and drops what is old.

use crate::begun::{Begun, FileProperties};
use crate::compaction;
use crate::level::{HOUR, SECOND};
use crate::naming::commit_all;
use crate::rollup::{self, RollupFailure, RollupJob};
use crate::shared::StoreState;
use crate::{Level, ManifestChange, StoredFile, retention};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The longest time between two looks for work.
const LOOK: Duration = Duration::from_secs(1);
/// The wait after a fault of the disk.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// New files that are named together.
const MOST_MADE: usize = 64;
/// Files that are open at a time.
const MOST_FILES: usize = 512;
/// The time by which records of an hour come later than it ends, by the active timeout.
const LATE_RECORDS: u64 = 600 * SECOND;

/// Files that can become one: of a node, key, length of windows, and hour.
type CompactionKey = (String, String, u64, u64);

/// Works until the end, and then once more.
pub(crate) fn run(shared: &StoreState) {
    let mut upkeep = Upkeep { parts: 1, alone: BTreeSet::new(), not_before: None, has_found_damage: false };
    loop {
        let goes_on = shared.wait(LOOK);
        if !goes_on || upkeep.not_before.is_none_or(|time| time <= Instant::now()) {
            upkeep.pass(shared);
        }
        if !goes_on {
            // A file that is damaged is found when it is read, one at a pass: the others wait for the next.
            while std::mem::take(&mut upkeep.has_found_damage) && !shared.stop.load(Relaxed) {
                upkeep.pass(shared);
            }
            return;
        }
    }
}

struct Upkeep {
    /// Parts into which the keys of a window were divided.
    parts: u64,
    /// The numbers of files that cannot become one with others.
    alone: BTreeSet<u64>,
    not_before: Option<Instant>,
    /// True if a file was found to be damaged, so that the others of its job are still to be taken.
    has_found_damage: bool,
}

impl Upkeep {
    fn pass(&mut self, shared: &StoreState) {
        self.not_before = None;
        let done = self
            .roll(shared, Level::Rows)
            .and_then(|()| self.roll(shared, Level::Minute))
            .and_then(|()| Level::ALL.into_iter().try_for_each(|level| self.compact(shared, level)))
            .and_then(|()| retention::drop_aged(shared).map_err(RollupFailure::Output));
        match done {
            Ok(()) | Err(RollupFailure::Stopped) => {}
            Err(RollupFailure::Damaged(_, reason) | RollupFailure::Output(reason)) => {
                if shared.tally.failed_upkeep.fetch_add(1, Relaxed) == 0 {
                    shared.remark(format!("{reason}: rollups and compaction are tried again"));
                }
                self.not_before = Some(Instant::now() + RETRY_DELAY);
            }
        }
        retention::hold_size(shared);
    }

    /// Adds rows of complete windows to the next rollup.
    fn roll(&mut self, shared: &StoreState, level: Level) -> Result<(), RollupFailure> {
        let waiting = |file: &StoredFile| !file.is_rolled && !shared.is_damaged(&file.path);
        let progress = shared.progress();
        let mut files = shared.manifest().files_of(level).map_err(RollupFailure::Output)?;
        files.retain(waiting);
        let is_ready = |file: &StoredFile| {
            let length = shared.keep.next(level, file.window_ns)?.window_ns()?;
            let end = (file.last_ns - file.last_ns % length).saturating_add(length);
            (end <= progress.get(&file.node)).then_some(())
        };
        let ready = files.iter().filter(|file| is_ready(file).is_some()).cloned().collect();
        let mut made = UncommittedFiles::default();
        for ((node, _, window_ns, _), group) in grouped(ready) {
            let Some(next) = shared.keep.next(level, window_ns) else { continue };
            let Some(length) = next.window_ns() else { continue };
            for group in group.chunks(MOST_FILES) {
                let numbers: Vec<u64> = group.iter().map(|file| file.number).collect();
                let job = RollupJob { files: group, level: next, window_ns: length, is_compaction: false };
                let written = match self.undamaged(shared, |parts| rollup::write(shared, &job, parts)) {
                    Ok(Some(written)) => written,
                    Ok(None) => continue,
                    Err(failure) => {
                        made.commit(shared)?;
                        return Err(failure);
                    }
                };
                files.retain(|file| !numbers.contains(&file.number));
                let until = complete_until(progress.get(&node), &node, length, group, &files);
                made.change.rolled.extend(numbers);
                made.change.until.extend(until.map(|until| (next, node.clone(), until)));
                made.files.extend(written);
                if made.files.len() >= MOST_MADE || made.since.elapsed() >= LOOK {
                    made.commit(shared)?;
                }
            }
        }
        made.commit(shared)
    }

    /// Makes one file of the segments of each hour that is over.
    fn compact(&mut self, shared: &StoreState, level: Level) -> Result<(), RollupFailure> {
        let progress = shared.progress();
        let mut files = shared.manifest().files_of(level).map_err(RollupFailure::Output)?;
        files.retain(|file| !shared.is_damaged(&file.path) && !self.alone.contains(&file.number));
        for ((node, _, _, hour), mut group) in grouped(files) {
            group.truncate(MOST_FILES);
            let is_waited_for =
                |file: &StoredFile| !file.is_rolled && shared.keep.next(level, file.window_ns).is_some();
            // What a clock that was set back measures comes for an hour: it is taken in once.
            let has_late = group.iter().any(|file| file.is_compacted);
            let wait = if has_late { HOUR } else { 0 } + if level == Level::Flows { LATE_RECORDS } else { 0 };
            let end = (hour.saturating_add(1)).saturating_mul(HOUR).saturating_add(wait);
            if group.len() < 2 || end > progress.get(&node) || group.iter().any(is_waited_for) {
                continue;
            }
            let bytes = group.iter().map(|file| file.bytes).sum();
            let numbers: Vec<u64> = group.iter().map(|file| file.number).collect();
            let first_ns = group.iter().map(|file| file.first_ns).min().unwrap_or(0);
            if !retention::make_room(shared, bytes, first_ns).map_err(RollupFailure::Output)? {
                // Segments are read as well.
                continue;
            }
            shared.gives_up.store(shared.stop.load(Relaxed), Relaxed);
            shared.reserved.store(bytes, Relaxed);
            let written = self.undamaged(shared, |parts| compaction::write(shared, &group, parts));
            shared.reserved.store(0, Relaxed);
            let compacted = match written {
                // There is no room for it any more.
                Err(RollupFailure::Stopped) if !shared.stop.load(Relaxed) => continue,
                written => written?,
            };
            let compacted = match compacted {
                Some(Some(compacted)) => compacted,
                Some(None) => {
                    self.alone.extend(numbers.first());
                    continue;
                }
                None => continue,
            };
            let removed = compacted.replaced.iter().map(|file| file.number).collect();
            let mut made = UncommittedFiles {
                files: vec![(compacted.begun, compacted.complete)],
                change: ManifestChange { removed, ..ManifestChange::default() },
                ..UncommittedFiles::default()
            };
            made.commit(shared)?;
            compacted.replaced.iter().for_each(|file| shared.remove(&file.path));
        }
        Ok(())
    }

    /// Returns what `write` makes; `None` if a file is damaged, which is reported. The others are tried again at the next pass.
    fn undamaged<T>(
        &mut self,
        shared: &StoreState,
        write: impl FnOnce(&mut u64) -> Result<T, RollupFailure>,
    ) -> Result<Option<T>, RollupFailure> {
        match write(&mut self.parts) {
            Err(RollupFailure::Damaged(path, reason)) => {
                // One that was dropped meanwhile is not there.
                if path.exists() {
                    self.has_found_damage |= shared.set_damaged(&path, &reason);
                }
                shared.wake();
                Ok(None)
            }
            written => written.map(Some),
        }
    }
}

/// New files that the manifest does not name yet, with what else changes.
struct UncommittedFiles {
    files: Vec<(Begun, FileProperties)>,
    change: ManifestChange,
    since: Instant,
}

impl Default for UncommittedFiles {
    fn default() -> Self {
        Self { files: Vec::new(), change: ManifestChange::default(), since: Instant::now() }
    }
}

impl UncommittedFiles {
    /// Names the files. If they cannot be named, none of it has happened.
    fn commit(&mut self, shared: &StoreState) -> Result<(), RollupFailure> {
        let Self { files, change, .. } = std::mem::take(self);
        if files.is_empty() && change == ManifestChange::default() {
            return Ok(());
        }
        let named: Vec<(&Begun, FileProperties)> =
            files.iter().map(|(begun, complete)| (begun, complete.clone())).collect();
        let synced = files.iter().try_for_each(|(begun, _)| begun.sync());
        synced.and_then(|()| commit_all(shared, &named, change)).map_err(|reason| {
            files.iter().for_each(|(begun, _)| begun.discard(shared));
            RollupFailure::Output(reason)
        })
    }
}

/// Files that can become one.
fn grouped(files: Vec<StoredFile>) -> BTreeMap<CompactionKey, Vec<StoredFile>> {
    let mut groups: BTreeMap<CompactionKey, Vec<StoredFile>> = BTreeMap::new();
    for file in files {
        let group = (file.node.clone(), file.key.clone(), file.window_ns, file.first_ns / HOUR);
        groups.entry(group).or_default().push(file);
    }
    groups
}

/// Returns the time until which a rollup of windows of a length has all rows of a node, once it has those of `rolled`; `waiting` are those that
/// it lacks.
fn complete_until(
    progress: u64,
    node: &str,
    length: u64,
    rolled: &[StoredFile],
    waiting: &[StoredFile],
) -> Option<u64> {
    let floor = |time: u64| time - time % length;
    let last = rolled.iter().map(|file| file.last_ns).max()?;
    let end = match progress {
        u64::MAX => floor(last).saturating_add(length),
        progress => floor(progress),
    };
    let lacking = waiting.iter().filter(|file| file.node == node).map(|file| floor(file.first_ns)).min();
    Some(lacking.map_or(end, |lacking| lacking.min(end)))
}
