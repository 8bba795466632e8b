//! One writer at a time: a lock that ends with its process.

use crate::fault;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::Path;

/// The file that a writer holds locked. Its leading dot hides it from engines.
pub(crate) const LOCK: &str = ".lock";

/// Held by the writer of a store.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the lock is on the open file")] File);

impl Lock {
    /// # Errors
    /// One line: another writer has it, or it cannot be made.
    pub(crate) fn take(folder: &Path) -> Result<Self, String> {
        let path = folder.join(LOCK);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| fault::of_path(&path, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(format!(
                "{}: another process writes this store: stop it, or name another folder",
                folder.display()
            )),
            Err(error) => Err(fault::of_path(&path, &error.into())),
        }
    }
}
