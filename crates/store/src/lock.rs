//! The lock of a store, which has one writer at a time; it ends with its process.

use crate::fault;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::iter::once;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The file that a writer holds locked. Its leading dot hides it from engines.
pub(crate) const LOCK: &str = ".lock";

/// The number of times that a lock is tried again, and the time between two tries.
const TRIES: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(10);

/// The lock that the writer of a store holds.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the lock is on the open file")] File);

impl Lock {
    /// # Errors
    /// Returns one line if another writer has the lock, or it cannot be made.
    pub(crate) fn take(folder: &Path) -> Result<Self, String> {
        let path = folder.join(LOCK);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| fault::describe_path_error(&path, &error))?;
        let taken = || flock(&file, FlockOperation::NonBlockingLockExclusive);
        // A reader that looks whether a writer has it has it itself for an instant.
        let again = (0..TRIES).map(|_| {
            thread::sleep(BETWEEN);
            taken()
        });
        let taken = once(taken()).chain(again).find(|taken| *taken != Err(rustix::io::Errno::WOULDBLOCK));
        match taken.unwrap_or(Err(rustix::io::Errno::WOULDBLOCK)) {
            Ok(()) => Ok(Self(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(format!(
                "{}: another process writes this store: stop it, or name another folder",
                folder.display()
            )),
            Err(error) => Err(fault::describe_path_error(&path, &error.into())),
        }
    }
}

/// Returns true if a writer holds the lock of the store in a folder. Where that cannot be found out, none does.
pub(crate) fn is_taken(folder: &Path) -> bool {
    let Ok(file) = File::open(folder.join(LOCK)) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}
