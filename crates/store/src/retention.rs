//! What is dropped: files that are too old, and the oldest where all are too large.

use crate::level::HOUR;
use crate::shared::{Shared, now_ns};
use crate::{Change, Level, StoredFile};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Files that are dropped in one transaction.
const STEP: usize = 256;
/// A gap of this length before a file may be a jump of the clock, nanoseconds.
const JUMP: u64 = 24 * HOUR;
/// The time that files behind such a gap must cover before older files age by them, nanoseconds.
const BELIEVED: u64 = HOUR;

/// Drops the oldest files where all together, with those that are being written, are too large. Rows and records go first, then the rollups,
/// the shorter ones before the longer ones. A compaction that has no room any more is given up before anything is dropped for it.
pub(crate) fn hold_size(shared: &Shared) {
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
/// One line: the manifest cannot be read or written.
pub(crate) fn make_room(shared: &Shared, bytes: u64, first_ns: u64) -> Result<bool, String> {
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
fn surplus(shared: &Shared, more: u64) -> Result<u64, String> {
    let manifest = shared.manifest();
    let (_, held) = manifest.totals()?;
    let all = held + manifest.own_bytes() + shared.open_bytes.load(Relaxed);
    Ok(all.saturating_add(more).saturating_sub(shared.size))
}

/// The oldest of the files that may go, until they have `bytes` bytes together, or all of these.
fn oldest(
    shared: &Shared,
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
/// One line: the manifest cannot be read or written.
pub(crate) fn drop_aged(shared: &Shared) -> Result<(), String> {
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

/// Until when files are believed to reach: what follows a jump of the clock counts once it lasts, unless there is nothing older.
fn newest(files: &[StoredFile]) -> u64 {
    let mut files: Vec<&StoredFile> = files.iter().collect();
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

fn drop_files(shared: &Shared, files: Vec<StoredFile>, tally: &AtomicU64) -> Result<(), String> {
    for files in files.chunks(STEP) {
        let removed = files.iter().map(|file| file.number).collect();
        shared.manifest().commit(&Change { removed, ..Change::default() })?;
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
        let of = |more: &[StoredFile]| newest(&[&old[..], more].concat());
        assert_eq!((newest(&[]), of(&[])), (0, HOUR + 10));
        assert_eq!(of(&[file(YEAR, YEAR + HOUR / 2)]), HOUR + 10);
        assert_eq!(of(&[file(YEAR, YEAR + HOUR / 2), file(9 * YEAR, 9 * YEAR)]), HOUR + 10);
        assert_eq!(of(&[file(YEAR + HOUR / 2, YEAR + HOUR), file(YEAR, YEAR)]), YEAR + HOUR + 10);
        assert_eq!(of(&[file(YEAR, YEAR + HOUR), file(9 * YEAR, 9 * YEAR)]), YEAR + HOUR + 10);
        // A night without packets is no jump.
        assert_eq!(of(&[file(20 * HOUR, 20 * HOUR)]), 20 * HOUR + 10);
        // Nothing is older.
        assert_eq!(newest(&[file(YEAR, YEAR)]), YEAR + 10);
        assert_eq!(newest(&[file(YEAR, YEAR), file(2 * YEAR, 2 * YEAR)]), YEAR + 10);
    }
}
