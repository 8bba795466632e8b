//! A file that is being written: it counts once the manifest names it.

use crate::clock::now_ns;
use crate::{Level, StoredFile};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file that has a number and a name, and is in no manifest yet.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    pub(crate) level: Level,
    pub(crate) node: String,
}

/// The facts about a complete file.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileProperties {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) window_ns: u64,
    pub(crate) rows: u64,
    pub(crate) key: String,
    pub(crate) is_compacted: bool,
    pub(crate) is_rolled: bool,
}

impl Begun {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Synchronises the file: its bytes are on the disk afterwards.
    ///
    /// # Errors
    /// Returns one line if the bytes cannot be put there.
    pub(crate) fn sync(&self) -> Result<(), String> {
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|error| crate::fault::describe_path_error(&self.path, &error))
    }

    /// Returns what a manifest has about the file.
    ///
    /// # Errors
    /// Returns one line if the file is gone.
    pub(crate) fn stored(&self, complete: FileProperties) -> Result<StoredFile, String> {
        let bytes = std::fs::metadata(&self.path)
            .map_err(|error| crate::fault::describe_path_error(&self.path, &error))?
            .len();
        let FileProperties { first_ns, last_ns, window_ns, rows, key, is_compacted, is_rolled } = complete;
        Ok(StoredFile {
            number: self.number,
            path: self.path.clone(),
            level: self.level,
            node: self.node.clone(),
            first_ns,
            last_ns,
            window_ns,
            rows,
            bytes,
            key,
            created_ns: now_ns(),
            is_compacted,
            is_rolled,
        })
    }
}
