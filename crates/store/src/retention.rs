//! What is dropped: files that are too old, and the oldest where all are too large.

use crate::level::HOUR;
use crate::shared::{Shared, now_ns};
use crate::{Change, Level, StoredFile};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Files that are dropped in one transaction.
const STEP: usize = 256;

/// Drops the oldest files where all together, with those that are being written, are too large. Rows and records go first, then the rollups,
/// the shorter ones before the longer ones. A compaction that has no room any more is given up before anything is dropped for it.
pub(crate) fn hold_size(shared: &Shared) {
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

/// Makes room for a compaction of files from a time on, so many bytes, by dropping older rows and records. Returns whether there is room; if
/// there is not, nothing is dropped.
///
/// # Errors
/// One line: the manifest cannot be read or written.
pub(crate) fn make_room(shared: &Shared, bytes: u64, first_ns: u64) -> Result<bool, String> {
    let surplus = surplus(shared, bytes)?;
    let dropped = oldest(shared, surplus, |file| file.level <= Level::Flows && file.last_ns < first_ns)?;
    let has_room = dropped.iter().map(|file| file.bytes).sum::<u64>() >= surplus;
    if has_room {
        drop_files(shared, dropped, &shared.tally.squeezed)?;
    }
    Ok(has_room)
}

/// Bytes that are too many, with so many more.
fn surplus(shared: &Shared, more: u64) -> Result<u64, String> {
    let manifest = shared.manifest();
    let (_, held) = manifest.totals()?;
    let all = held + manifest.own_bytes() + shared.open_bytes.load(Relaxed);
    Ok(all.saturating_add(more).saturating_sub(shared.size))
}

/// The oldest files that have so many bytes together, or all, of those that may go.
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
    let newest = files.iter().map(end_of).max().unwrap_or(0).min(now_ns());
    let is_aged = |file: &StoredFile| {
        let age = shared.keep.age(file.level).unwrap_or(0);
        let is_waited_for = !file.is_rolled
            && !shared.is_damaged(&file.path)
            && shared.keep.next(file.level, file.window_ns).is_some();
        end_of(file).saturating_add(age) <= newest && !is_waited_for
    };
    drop_files(shared, files.into_iter().filter(is_aged).collect(), &shared.tally.aged)
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
