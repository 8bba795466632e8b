//! The state that the threads of a store share.

use crate::counts::StoreCounters;
use crate::group::CommitGroup;
use crate::keep::StoreRetention;
use crate::{Manifest, StoreCounts, fault};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines that wait to be said; later ones take the place of the first.
const REMARKS: usize = 64;

pub(crate) struct StoreState {
    pub(crate) folder: PathBuf,
    pub(crate) keep: StoreRetention,
    /// The greatest size of all files, bytes.
    pub(crate) size: u64,
    pub(crate) tally: StoreCounters,
    manifest: Mutex<Manifest>,
    /// The times until which all that was measured of a node is committed, nanoseconds since the epoch.
    progress: Mutex<BTreeMap<String, u64>>,
    group: Mutex<CommitGroup>,
    remarks: Mutex<VecDeque<String>>,
    fault: Mutex<Option<String>>,
    /// Files that could not be read.
    damaged: Mutex<BTreeSet<PathBuf>>,
    /// The lock that is held while a folder is made and gets its first file, and while an empty one is removed.
    folders: Mutex<()>,
    /// The lock that is held while files are dropped because all are too large.
    dropping: Mutex<()>,
    /// Bytes of files that are being written, of segments and of compactions.
    pub(crate) open_bytes: AtomicU64,
    pub(crate) reserved: AtomicU64,
    /// True if the compaction under way is to be given up.
    pub(crate) gives_up: AtomicBool,
    /// True if upkeep is to stop at once.
    pub(crate) stop: AtomicBool,
    work: Mutex<WorkSignal>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct WorkSignal {
    is_there: bool,
    ends: bool,
}

/// The times until which nodes are committed, nanoseconds since the epoch.
pub(crate) struct CommitTimes(BTreeMap<String, u64>);

impl CommitTimes {
    /// Returns the time of a node; what no one measures is committed.
    pub(crate) fn get(&self, node: &str) -> u64 {
        self.0.get(node).copied().unwrap_or(u64::MAX)
    }
}

/// Reading continues after a panic: each change under a lock is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StoreState {
    pub(crate) fn new(manifest: Manifest, keep: StoreRetention, size: u64) -> Self {
        Self {
            folder: manifest.folder().to_owned(),
            keep,
            size,
            tally: StoreCounters::default(),
            manifest: Mutex::new(manifest),
            progress: Mutex::default(),
            group: Mutex::default(),
            remarks: Mutex::default(),
            fault: Mutex::default(),
            damaged: Mutex::default(),
            folders: Mutex::default(),
            dropping: Mutex::default(),
            open_bytes: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            gives_up: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            work: Mutex::default(),
            woken: Condvar::new(),
        }
    }

    pub(crate) fn manifest(&self) -> MutexGuard<'_, Manifest> {
        lock(&self.manifest)
    }

    /// Locks the group of what waits to be named.
    pub(crate) fn group(&self) -> MutexGuard<'_, CommitGroup> {
        lock(&self.group)
    }

    /// Locks the dropping of files: no other thread looks at the size meanwhile.
    pub(crate) fn dropping(&self) -> MutexGuard<'_, ()> {
        lock(&self.dropping)
    }

    /// Adds a line to those that are to be reported.
    pub(crate) fn remark(&self, line: String) {
        let mut remarks = lock(&self.remarks);
        if remarks.len() == REMARKS {
            remarks.pop_front();
        }
        remarks.push_back(line);
    }

    pub(crate) fn remarks(&self) -> Vec<String> {
        lock(&self.remarks).drain(..).collect()
    }

    /// Sets the fault of what could not be written, or `None` once it could. A change is reported.
    pub(crate) fn set_fault(&self, fault: Option<String>) {
        let mut known = lock(&self.fault);
        let line = match (&*known, &fault) {
            (None, Some(reason)) => {
                Some(format!("{reason}: what is not stored is counted, and the next is tried"))
            }
            (Some(_), None) => {
                Some(format!("the store {} takes what is measured again", self.folder.display()))
            }
            _ => None,
        };
        *known = fault;
        line.into_iter().for_each(|line| self.remark(line));
    }

    /// Takes note that a file could not be read: that is reported once, and the file is left alone. Returns whether that is new.
    pub(crate) fn set_damaged(&self, path: &Path, reason: &str) -> bool {
        let is_new = lock(&self.damaged).insert(path.to_owned());
        if is_new {
            self.remark(format!("{reason}: the file is left out of rollups and compaction"));
        }
        is_new
    }

    pub(crate) fn is_damaged(&self, path: &Path) -> bool {
        lock(&self.damaged).contains(path)
    }

    pub(crate) fn set_progress(&self, node: &str, until_ns: u64) {
        lock(&self.progress).insert(node.to_owned(), until_ns);
        self.wake();
    }

    /// Returns the times until which nodes are committed. What is listed afterwards has all of it.
    pub(crate) fn progress(&self) -> CommitTimes {
        CommitTimes(lock(&self.progress).clone())
    }

    /// Stops upkeep at once; what it makes is given up.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Relaxed);
        self.gives_up.store(true, Relaxed);
    }

    pub(crate) fn wake(&self) {
        lock(&self.work).is_there = true;
        self.woken.notify_all();
    }

    /// Ends the work: no more is written.
    pub(crate) fn end(&self) {
        lock(&self.work).ends = true;
        self.woken.notify_all();
    }

    /// Waits for work; false at the end.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        let work = lock(&self.work);
        let idle = |work: &mut WorkSignal| !work.is_there && !work.ends;
        let (mut work, _) =
            self.woken.wait_timeout_while(work, most, idle).unwrap_or_else(PoisonError::into_inner);
        work.is_there = false;
        !work.ends
    }

    /// Makes the folder of a file, and what `create` makes in it.
    pub(crate) fn in_folder<T>(
        &self,
        path: &Path,
        create: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let _held = lock(&self.folders);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| fault::describe_path_error(folder, &error))?;
        }
        create()
    }

    /// Synchronises folders: the names of the files in them, and of these and the folders above them, are on the disk afterwards.
    pub(crate) fn sync_folders(&self, folders: &[&Path]) -> Result<(), String> {
        let is_inside = |folder: &&Path| folder.starts_with(&self.folder);
        let all: BTreeSet<&Path> =
            folders.iter().flat_map(|folder| folder.ancestors().take_while(is_inside)).collect();
        // The inner ones first.
        for folder in all.into_iter().rev() {
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(|error| fault::describe_path_error(folder, &error))?;
        }
        Ok(())
    }

    /// Removes a file, and folders that are empty then.
    pub(crate) fn remove(&self, path: &Path) {
        // One that is not there is removed. What cannot be is removed at the next start, for no manifest names it.
        let _ = fs::remove_file(path);
        let _held = lock(&self.folders);
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != self.folder) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }

    pub(crate) fn counts(&self) -> StoreCounts {
        let of = |count: &AtomicU64| count.load(Relaxed);
        let (files, bytes) = self.manifest().totals().unwrap_or_default();
        StoreCounts {
            rows: self.tally.rows.read(),
            flows: self.tally.flows.read(),
            aged: of(&self.tally.aged),
            squeezed: of(&self.tally.squeezed),
            failed_upkeep: of(&self.tally.failed_upkeep),
            files,
            bytes,
            fault: lock(&self.fault).clone(),
        }
    }
}
