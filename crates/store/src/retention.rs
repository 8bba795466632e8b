//! Retention, which drops files that are too old, and the oldest where all are too large.

use crate::clock::now_ns;
use crate::level::{HOUR, SECOND};
use crate::shared::StoreState;
use crate::{Level, ManifestChange, StoredFile};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Files that are dropped in one transaction.
const STEP: usize = 256;
/// A gap of this length before a file may be a jump of the clock, nanoseconds.
const JUMP: u64 = 24 * HOUR;
/// The time that files behind such a gap must cover before older files age by them, nanoseconds.
const BELIEVED: u64 = HOUR;
/// The newest windows, by time and by number, that do not count when the age of files is computed: a few packets may have times far ahead of all
/// others.
const AHEAD: u64 = 30 * SECOND;
const AHEAD_WINDOWS: u64 = 3;

/// Drops the oldest files where all together, with those that are being written, are too large. Rows and records go first, then the rollups,
/// the shorter ones before the longer ones. A compaction that has no room any more is given up before anything is dropped for it.
pub(crate) fn hold_size(shared: &StoreState) {
    // Two threads at once would each drop what is too much.
    let _dropping = shared.dropping();
    let held = || {
        let reserved = shared.reserved.load(Relaxed);
        if reserved != 0 && surplus(shared, reserved)? != 0 {
            shared.gives_up.store(true, Relaxed);
        }
        let dropped = oldest(shared, surplus(shared, 0)?, |_| true)?;
        drop_files(shared, dropped, &shared.tally.squeezed)
    };
    if let Err(reason) = held() {
        shared.set_fault(Some(reason));
    }
}

/// Makes room of `bytes` bytes for a compaction of files from a time on, by dropping older rows and records. Returns whether there is room; if
/// there is not, nothing is dropped.
///
/// # Errors
/// Returns one line if the manifest cannot be read or written.
pub(crate) fn make_room(shared: &StoreState, bytes: u64, first_ns: u64) -> Result<bool, String> {
    let _dropping = shared.dropping();
    let surplus = surplus(shared, bytes)?;
    let dropped = oldest(shared, surplus, |file| file.level <= Level::Flows && file.last_ns < first_ns)?;
    let has_room = dropped.iter().map(|file| file.bytes).sum::<u64>() >= surplus;
    if has_room {
        drop_files(shared, dropped, &shared.tally.squeezed)?;
    }
    Ok(has_room)
}

/// Bytes above the limit, once `more` bytes are added.
fn surplus(shared: &StoreState, more: u64) -> Result<u64, String> {
    let manifest = shared.manifest();
    let (_, held) = manifest.totals()?;
    let all = held + manifest.own_bytes() + shared.open_bytes.load(Relaxed);
    Ok(all.saturating_add(more).saturating_sub(shared.size))
}

/// The oldest of the files that may go, until they have `bytes` bytes together, or all of these.
fn oldest(
    shared: &StoreState,
    bytes: u64,
    may_go: impl FnMut(&StoredFile) -> bool,
) -> Result<Vec<StoredFile>, String> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    let mut files = shared.manifest().files()?;
    files.retain(may_go);
    // Rows and records are one.
    files.sort_by_key(|file| (file.level.max(Level::Flows), file.last_ns, file.number));
    let mut found = 0;
    let dropped = files.into_iter().take_while(|file| {
        let is_missing = found < bytes;
        found += file.bytes;
        is_missing
    });
    Ok(dropped.collect())
}

/// Drops files that are older than they are to be kept. Those whose rows are not in the next rollup yet are kept until they are.
///
/// # Errors
/// Returns one line if the manifest cannot be read or written.
pub(crate) fn drop_aged(shared: &StoreState) -> Result<(), String> {
    let files = shared.manifest().files()?;
    // What was recorded long ago is as old as the newest file makes it, and a clock that was ahead does not make it older.
    let newest = newest(&files).min(now_ns());
    let is_aged = |file: &StoredFile| {
        let age = shared.keep.age(file.level).unwrap_or(0);
        let is_waited_for = !file.is_rolled
            && !shared.is_damaged(&file.path)
            && shared.keep.next(file.level, file.window_ns).is_some();
        end_of(file).saturating_add(age) <= newest && !is_waited_for
    };
    drop_files(shared, files.into_iter().filter(is_aged).collect(), &shared.tally.aged)
}

/// Returns the time until which files are believed to reach, by what is stored: windows without packets count for nothing, and neither do the
/// newest ones with packets until there are some.
fn newest(files: &[StoredFile]) -> u64 {
    let with_rows = files.iter().filter(|file| file.rows != 0);
    lasting(with_rows.clone().collect()).min(most_of_all(with_rows.collect()))
}

/// Returns the time up to which files reach without those of the newest windows with packets.
fn most_of_all(mut files: Vec<&StoredFile>) -> u64 {
    if files.iter().any(|file| file.level == Level::Rows) {
        files.retain(|file| file.level == Level::Rows);
    }
    files.sort_unstable_by_key(|file| std::cmp::Reverse(end_of(file)));
    let mut held = 0_u64;
    let reached = files.into_iter().find(|file| {
        let length = file.window_ns.max(1);
        // A window with a packet has a row at the least.
        let all = file.last_ns.saturating_sub(file.first_ns).saturating_add(length);
        held = held.saturating_add(all.min(file.rows.saturating_mul(length)));
        held >= AHEAD.max(length.saturating_mul(AHEAD_WINDOWS))
    });
    reached.map_or(0, end_of)
}

/// Returns the time up to which files reach: what follows a jump of the clock counts once it lasts, unless there is nothing older.
fn lasting(mut files: Vec<&StoredFile>) -> u64 {
    files.sort_unstable_by_key(|file| file.first_ns);
    let Some(first) = files.first() else { return 0 };
    let (mut begin, mut last, mut end, mut believed) = (first.first_ns, 0, 0, None);
    for file in files {
        if file.first_ns.saturating_sub(JUMP) > end.max(begin) {
            believed.get_or_insert(end);
            (begin, last) = (file.first_ns, 0);
        }
        (last, end) = (file.last_ns.max(last), end_of(file).max(end));
        if last.saturating_sub(begin) >= BELIEVED {
            believed = Some(end);
        }
    }
    believed.unwrap_or(end)
}

fn end_of(file: &StoredFile) -> u64 {
    file.last_ns.saturating_add(file.window_ns.clamp(1, HOUR))
}

fn drop_files(shared: &StoreState, files: Vec<StoredFile>, tally: &AtomicU64) -> Result<(), String> {
    for files in files.chunks(STEP) {
        let removed = files.iter().map(|file| file.number).collect();
        let end = |file: &StoredFile| file.last_ns.saturating_add(file.window_ns);
        let dropped = files.iter().map(|file| (file.level, file.node.clone(), end(file))).collect();
        shared.manifest().commit(&ManifestChange { removed, dropped, ..ManifestChange::default() })?;
        files.iter().for_each(|file| shared.remove(&file.path));
        tally.fetch_add(files.len() as u64, Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const YEAR: u64 = 365 * 24 * HOUR;

    fn file(first_ns: u64, last_ns: u64) -> StoredFile {
        StoredFile {
            number: 0,
            path: PathBuf::new(),
            level: Level::Rows,
            node: String::new(),
            first_ns,
            last_ns,
            window_ns: 10,
            rows: 1,
            bytes: 1,
            key: String::new(),
            created_ns: 0,
            is_compacted: false,
            is_rolled: true,
        }
    }

    #[test]
    fn a_clock_that_jumped_is_believed_once_it_lasts() {
        let old = [file(0, HOUR / 2), file(HOUR / 2, HOUR)];
        let lasting = |files: &[StoredFile]| lasting(files.iter().collect());
        let of = |more: &[StoredFile]| lasting(&[&old[..], more].concat());
        assert_eq!((lasting(&[]), of(&[])), (0, HOUR + 10));
        assert_eq!(of(&[file(YEAR, YEAR + HOUR / 2)]), HOUR + 10);
        assert_eq!(of(&[file(YEAR, YEAR + HOUR / 2), file(9 * YEAR, 9 * YEAR)]), HOUR + 10);
        assert_eq!(of(&[file(YEAR + HOUR / 2, YEAR + HOUR), file(YEAR, YEAR)]), YEAR + HOUR + 10);
        assert_eq!(of(&[file(YEAR, YEAR + HOUR), file(9 * YEAR, 9 * YEAR)]), YEAR + HOUR + 10);
        // A night without packets is no jump.
        assert_eq!(of(&[file(20 * HOUR, 20 * HOUR)]), 20 * HOUR + 10);
        // Nothing is older.
        assert_eq!(lasting(&[file(YEAR, YEAR)]), YEAR + 10);
        assert_eq!(lasting(&[file(YEAR, YEAR), file(2 * YEAR, 2 * YEAR)]), YEAR + 10);
    }

    /// A file of windows of a second.
    fn seconds(first: u64, windows: u64, rows: u64) -> StoredFile {
        let first_ns = first * SECOND;
        StoredFile { window_ns: SECOND, rows, ..file(first_ns, first_ns + (windows - 1) * SECOND) }
    }

    #[test]
    fn a_few_packets_ahead_age_nothing() {
        let minute = seconds(0, 60, 60);
        let of = |more: StoredFile| newest(&[minute.clone(), more]);
        assert_eq!(newest(std::slice::from_ref(&minute)), 60 * SECOND);
        // A packet two hours ahead, with the empty windows before it, and without a day's gap.
        assert_eq!(of(seconds(7000, 200, 1)), 60 * SECOND);
        assert_eq!(
            newest(&[minute.clone(), seconds(60, 3600, 0), seconds(3660, 3540, 0), seconds(7199, 1, 1)]),
            60 * SECOND
        );
        // It goes on.
        assert_eq!(of(seconds(7000, 200, 200)), 7200 * SECOND);
        // Three packets are too few to age one another.
        assert_eq!(newest(&[seconds(17, 1, 1), seconds(47, 1, 1), seconds(86_447, 1, 1)]), 0);
    }
}
