//! Naming of the files of a group: the disk is waited for once for all of them.

use crate::ManifestChange;
use crate::begun::{Begun, FileProperties};
use crate::group::PendingFile;
use crate::naming::commit_all;
use crate::shared::StoreState;
use crate::watched::{Ledger, Unstored};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// The number of files in a group at which they no longer wait to be named.
const MOST: usize = 512;

/// Adds complete files, of windows of these times: all of them are named at once.
pub(crate) fn add(shared: &StoreState, files: Vec<(Begun, FileProperties)>, watched: &[[u64; 2]]) {
    let is_full = {
        let mut group = shared.group();
        for (begun, complete) in files {
            let bytes = std::fs::metadata(begun.path()).map_or(0, |file| file.len());
            shared.open_bytes.fetch_add(bytes, Relaxed);
            group.files.push(PendingFile { begun, complete, watched: watched.to_vec(), bytes });
        }
        group.is_changed = true;
        group.files.len() >= MOST
    };
    if is_full {
        flush_all(shared);
    }
}

/// Takes note that windows of these times could not be written.
pub(crate) fn lose(shared: &StoreState, node: &str, times: &[[u64; 2]], reason: &str) {
    let mut group = shared.group();
    let why = Unstored::from_fault(reason);
    if let Some(ledger) = group.ledgers.get_mut(node) {
        times.iter().for_each(|time| ledger.lost(*time, why, &mut || shared.manifest().take_entry()));
    }
    group.is_changed = true;
}

/// Names what waits, if the last time is long enough ago.
pub(crate) fn flush_due(shared: &StoreState) {
    if shared.group().is_due() {
        flush(shared);
    }
}

/// Names what waits and may be named. A file that cannot be is given up, and what it had is counted.
pub(crate) fn flush(shared: &StoreState) {
    name(shared, false);
}

/// Names all that waits.
pub(crate) fn flush_all(shared: &StoreState) {
    name(shared, true);
}

fn name(shared: &StoreState, all: bool) {
    let (files, progress) = {
        let mut group = shared.group();
        group.is_changed = false;
        group.flushed = Some(Instant::now());
        (group.take_files(all), std::mem::take(&mut group.progress))
    };
    let had_files = !files.is_empty();
    let mut failed = None;
    let (mut synced, mut lost) = (Vec::new(), Vec::new());
    for file in files {
        match file.begun.sync() {
            Ok(()) => synced.push(file),
            Err(reason) => lost.push((file, reason)),
        }
    }
    if let Err(reason) = commit(shared, &synced) {
        lost.extend(synced.drain(..).map(|file| (file, reason.clone())));
        // What is known of times waits for the next time.
        shared.group().is_changed = true;
        failed = Some(reason);
    }
    for PendingFile { begun, complete, bytes, .. } in &synced {
        let tally = shared.tally.level(begun.level());
        tally.stored.fetch_add(complete.rows, Relaxed);
        shared.open_bytes.fetch_sub(*bytes, Relaxed);
    }
    for (PendingFile { begun, complete, watched, bytes }, reason) in lost {
        let tally = shared.tally.level(begun.level());
        tally.refused.fetch_add(complete.rows, Relaxed);
        shared.open_bytes.fetch_sub(bytes, Relaxed);
        lose(shared, begun.node(), &watched, &reason);
        begun.discard(shared);
        failed = Some(reason);
    }
    if had_files || failed.is_some() {
        shared.set_fault(failed);
    }
    progress.into_iter().for_each(|(node, until_ns)| shared.set_progress(&node, until_ns));
}

/// Names files that are on the disk, and says which times were watched.
fn commit(shared: &StoreState, files: &[PendingFile]) -> Result<(), String> {
    let change = {
        let mut group = shared.group();
        for file in files {
            if let Some(ledger) = group.ledgers.get_mut(file.begun.node()) {
                let mut number = || shared.manifest().take_entry();
                file.watched.iter().for_each(|time| ledger.watched(*time, &mut number));
            }
        }
        let mut change = ManifestChange::default();
        for (watched, ended, begun) in group.ledgers.values().map(Ledger::changes) {
            change.watched.extend_from_slice(watched);
            change.ended.extend(ended);
            change.begun.extend(begun.cloned());
        }
        change
    };
    if files.is_empty() && change == ManifestChange::default() {
        return Ok(());
    }
    let named: Vec<(&Begun, FileProperties)> =
        files.iter().map(|file| (&file.begun, file.complete.clone())).collect();
    commit_all(shared, &named, change)?;
    shared.group().ledgers.values_mut().for_each(Ledger::settle);
    Ok(())
}
