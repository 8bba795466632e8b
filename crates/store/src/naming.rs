//! Numbers and names of files, and the commits by which the manifest names them.

use crate::begun::{Begun, FileProperties};
use crate::shared::StoreState;
use crate::{Level, ManifestChange, place};
use std::path::Path;

impl Begun {
    /// Makes the file by `create`, in the folder of the hour of `first_ns`.
    pub(crate) fn create<T>(
        shared: &StoreState,
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

    /// Removes what there is of the file.
    pub(crate) fn discard(&self, shared: &StoreState) {
        let mut part = self.path.clone().into_os_string();
        part.push(".part");
        shared.remove(Path::new(&part));
        shared.remove(&self.path);
    }
}

/// Names files, whose bytes are on the disk, in the manifest, with what else changes.
///
/// # Errors
/// Returns one line if the files cannot be named. Nothing has changed then, and the files are still to be discarded.
pub(crate) fn commit_all(
    shared: &StoreState,
    files: &[(&Begun, FileProperties)],
    mut change: ManifestChange,
) -> Result<(), String> {
    let mut folders: Vec<&Path> = files.iter().filter_map(|(begun, _)| begun.path.parent()).collect();
    folders.dedup();
    shared.sync_folders(&folders)?;
    for (begun, complete) in files {
        change.added.push(begun.stored(complete.clone())?);
    }
    shared.manifest().commit(&change)
}
