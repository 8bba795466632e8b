//! Removal of what a killed writer left: files that no manifest names.

use crate::Level;
use crate::shared::StoreState;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below that of a level: date, hour, node.
const DEPTH: usize = 3;

/// Removes files of the store that the manifest does not name, and takes files out of it that are not there. Files of others are left
/// alone and named.
///
/// # Errors
/// Returns one line if the manifest cannot be read or written.
pub(crate) fn sweep(shared: &StoreState) -> Result<(), String> {
    let files = shared.manifest().files()?;
    let missing: Vec<_> = files.iter().filter(|file| !file.path.is_file()).collect();
    if let Some(first) = missing.first() {
        let removed = missing.iter().map(|file| file.number).collect();
        shared.manifest().commit(&crate::ManifestChange { removed, ..crate::ManifestChange::default() })?;
        let (count, path) = (missing.len(), first.path.display());
        shared.remark(format!(
            "{count} files of the store are gone, {path} first: what they had is not in it any more"
        ));
    }
    let named: BTreeSet<PathBuf> = files.into_iter().map(|file| file.path).collect();
    let (mut foreign, mut left) = (Vec::new(), Vec::new());
    for level in Level::ALL {
        walk(&shared.folder.join(level.folder()), DEPTH, &named, &mut left, &mut foreign);
    }
    left.iter().for_each(|path| shared.remove(path));
    if let Some(first) = foreign.first() {
        let (count, path) = (foreign.len(), first.display());
        shared
            .remark(format!("{count} files in the store are not its own and stay as they are, {path} first"));
    }
    Ok(())
}

/// Finds files of the store's form that are not named, and other ones.
fn walk(
    folder: &Path,
    depth: usize,
    named: &BTreeSet<PathBuf>,
    left: &mut Vec<PathBuf>,
    foreign: &mut Vec<PathBuf>,
) {
    // What cannot be listed holds nothing that could be removed.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        match (is_folder, depth) {
            (true, 1..) => walk(&path, depth - 1, named, left, foreign),
            (false, 0) if named.contains(&path) => {}
            (false, 0) if is_own(&path) => left.push(path),
            _ => foreign.push(path),
        }
    }
}

/// Returns true if a name is one that a store gives: `0001.parquet`, or the same while it was written.
fn is_own(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".part").unwrap_or(&name);
    let digits = name.strip_suffix(".parquet").unwrap_or("");
    digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_store_are_known() {
        let is_own = |name: &str| is_own(Path::new(name));
        assert!(is_own("a/0001.parquet") && is_own("123456.parquet.part"));
        assert!(
            !["x.parquet", "001.parquet", "0001.csv", "0001.parquet.bak", ".parquet"].into_iter().any(is_own)
        );
    }
}
