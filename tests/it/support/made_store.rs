//! A store that is made of the files of some runs.

use super::program::call;
use super::scratch::{Scratch, text};
use record::read::FlowFile;
use std::path::{Path, PathBuf};
use store::{Catalog, Level, Manifest, ManifestChange, StoredFile, place};

const FULL: &str = "src_addr,dst_addr,protocol,src_port,dst_port";
/// What rollups keep.
const PART: &str = "src_addr,dst_addr,protocol";

/// The folder of a store that has the rows of a capture and rollups of them: what runs with such windows and keys write.
pub(crate) fn of_capture(scratch: &Scratch, capture: &Path, node: &str, every: &str) -> PathBuf {
    let folder = scratch.path("store");
    for (level, key, every) in
        [(Level::Rows, FULL, every), (Level::Minute, PART, "60s"), (Level::Hour, PART, "3600s")]
    {
        let rows = scratch.path("level.parquet");
        let options = ["--node", node, "--key", key, "--every", every, "--rows", text(&rows)];
        call(&[&["run", text(capture)], &options[..]].concat()).expect(0);
        add(&folder, &rows, level, node, key);
    }
    folder
}

/// Takes a file into a store; of a rollup it has all rows.
pub(crate) fn add(folder: &Path, file: &Path, level: Level, node: &str, key: &str) -> PathBuf {
    let mut manifest = Manifest::open(folder).expect("a store");
    let contents = FlowFile::open(file).expect("a file of rows").contents().clone();
    let windows = contents.windows.expect("a list of windows");
    let [first_ns, last_ns] = windows.ends().expect("windows");
    let number = manifest.take_number();
    let path = folder.join(place(level, node, first_ns, number));
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::rename(file, &path).expect("moved");
    let stored = StoredFile {
        number,
        path: path.clone(),
        level,
        node: node.to_owned(),
        first_ns,
        last_ns,
        window_ns: windows.length_ns,
        rows: contents.rows.expect("a number"),
        bytes: std::fs::metadata(&path).expect("a file").len(),
        key: key.to_owned(),
        created_ns: 0,
        is_compacted: false,
        is_rolled: true,
    };
    let until = (level != Level::Rows).then(|| (level, node.to_owned(), last_ns + windows.length_ns));
    let until = until.into_iter().collect();
    manifest
        .commit(&ManifestChange { added: vec![stored], until, ..ManifestChange::default() })
        .expect("named");
    path
}

/// The folder of a store that has the window rows of these stores.
pub(crate) fn union(scratch: &Scratch, stores: &[&Path]) -> PathBuf {
    let folder = scratch.path("union");
    let mut manifest = Manifest::open(&folder).expect("a store");
    for store in stores {
        let catalog = Catalog::open(store).expect("a store");
        for file in catalog.files(Level::Rows, None).expect("files") {
            let number = manifest.take_number();
            let path = folder.join(place(Level::Rows, &file.node, file.first_ns, number));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::copy(&file.path, &path).expect("copied");
            let file = StoredFile { number, path, ..file };
            manifest
                .commit(&ManifestChange { added: vec![file], ..ManifestChange::default() })
                .expect("named");
        }
    }
    folder
}

/// All files below a folder, in order.
pub(crate) fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files_of(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
