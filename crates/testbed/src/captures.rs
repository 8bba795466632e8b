//! The captures under a folder.

use std::path::{Path, PathBuf};

/// A capture file.
#[derive(Debug)]
pub struct CapturePath {
    /// The path of the file.
    pub path: PathBuf,
    /// The path of the file relative to the folder that was searched.
    pub name: String,
}

/// All files that are captures by their suffix, in the order of their names.
///
/// # Panics
/// If a folder cannot be read.
pub fn find(folder: &Path) -> Vec<CapturePath> {
    let mut captures = Vec::new();
    walk(folder, folder, &mut captures);
    captures.sort_by(|a, b| a.name.cmp(&b.name));
    captures
}

fn walk(root: &Path, folder: &Path, captures: &mut Vec<CapturePath>) {
    const SUFFIXES: [&str; 6] = ["pcap", "pcapng", "cap", "trace", "gz", "zst"];
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a folder entry").path()) {
        if path.is_dir() {
            walk(root, &path, captures);
        } else if path.extension().is_some_and(|suffix| SUFFIXES.iter().any(|known| suffix == *known)) {
            let name = path.strip_prefix(root).expect("a path below the root");
            let name = name.to_str().expect("a name in UTF-8").to_owned();
            captures.push(CapturePath { path, name });
        }
    }
}
