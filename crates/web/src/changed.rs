//! The watch for changes of files since they were read.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The time between two looks at files.
const EVERY: Duration = Duration::from_secs(1);

/// The attributes that tell two versions of a file apart: device, inode, size, and the times of its last changes.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

/// Files that are looked at.
#[derive(Debug)]
pub(crate) struct FileWatch {
    paths: Vec<PathBuf>,
    /// The stamps of the files; `None` where a file is not there.
    stamps: Vec<Option<Stamp>>,
    looked: Instant,
}

impl FileWatch {
    /// Files as they are now: they are to be read after this.
    pub(crate) fn new(paths: impl IntoIterator<Item = PathBuf>, now: Instant) -> Self {
        let paths: Vec<PathBuf> = paths.into_iter().collect();
        Self { stamps: paths.iter().map(stamp).collect(), paths, looked: now }
    }

    /// Returns true if one of the files has changed since it was last said so. It is looked at once a second.
    pub(crate) fn has_changed(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.looked) < EVERY {
            return false;
        }
        self.looked = now;
        let stamps: Vec<Option<Stamp>> = self.paths.iter().map(stamp).collect();
        let has_changed = stamps != self.stamps;
        self.stamps = stamps;
        has_changed
    }
}

fn stamp(path: &PathBuf) -> Option<Stamp> {
    let about = std::fs::metadata(path).ok()?;
    let (changed, written) = ((about.ctime(), about.ctime_nsec()), (about.mtime(), about.mtime_nsec()));
    Some((about.dev(), about.ino(), about.size(), written, changed))
}
