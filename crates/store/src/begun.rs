//! A file that is being written: it counts once the manifest names it.

use crate::shared::{Shared, now_ns};
use crate::{Change, Level, StoredFile, place};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file that has a number and a name, and is in no manifest yet.
#[derive(Debug)]
pub(crate) struct Begun {
    number: u64,
    path: PathBuf,
    level: Level,
    node: String,
}

/// What is known of a file that is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complete {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) window_ns: u64,
    pub(crate) rows: u64,
    pub(crate) key: String,
    pub(crate) is_compacted: bool,
    pub(crate) is_rolled: bool,
}

impl Begun {
    /// Makes the file by `create`, in the folder of the hour of `first_ns`.
    pub(crate) fn create<T>(
        shared: &Shared,
        level: Level,
        node: &str,
        first_ns: u64,
        create: impl FnOnce(&Path) -> Result<T, String>,
    ) -> Result<(Self, T), String> {
        let number = shared.manifest().take_number();
        let path = shared.folder.join(place(level, node, first_ns, number));
        let begun = Self { number, path, level, node: node.to_owned() };
        match shared.in_folder(&begun.path, || create(&begun.path)) {
            Ok(made) => Ok((begun, made)),
            Err(reason) => {
                begun.discard(shared);
                Err(reason)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Has the file's bytes on the disk.
    ///
    /// # Errors
    /// One line: they cannot be.
    pub(crate) fn sync(&self) -> Result<(), String> {
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|error| crate::fault::of_path(&self.path, &error))
    }

    fn stored(&self, complete: Complete) -> Result<StoredFile, String> {
        let bytes =
            std::fs::metadata(&self.path).map_err(|error| crate::fault::of_path(&self.path, &error))?.len();
        let Complete { first_ns, last_ns, window_ns, rows, key, is_compacted, is_rolled } = complete;
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

    /// Removes what there is of it.
    pub(crate) fn discard(&self, shared: &Shared) {
        let mut part = self.path.clone().into_os_string();
        part.push(".part");
        shared.remove(Path::new(&part));
        shared.remove(&self.path);
    }
}

/// Names files, whose bytes are on the disk, in the manifest, with what else changes.
///
/// # Errors
/// One line: they cannot be. Nothing has changed, and the files are still to be discarded.
pub(crate) fn commit_all(
    shared: &Shared,
    files: &[(&Begun, Complete)],
    mut change: Change,
) -> Result<(), String> {
    let mut folders: Vec<&Path> = files.iter().filter_map(|(begun, _)| begun.path.parent()).collect();
    folders.dedup();
    shared.sync_folders(&folders)?;
    for (begun, complete) in files {
        change.added.push(begun.stored(complete.clone())?);
    }
    shared.manifest().commit(&change)
}
