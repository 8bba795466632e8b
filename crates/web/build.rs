//! Lists the files of the page, so that the compiler includes them. Without `page/dist` the list is empty.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../page/dist");
    let mut files = Vec::new();
    if folder.is_dir() {
        println!("cargo::rerun-if-changed={}", folder.display());
        find(&folder.canonicalize()?, "", &mut files)?;
    } else {
        // What is never there makes this run again each time: once the folder is there, however old its files, it is seen.
        println!("cargo::rerun-if-changed={}", Path::new(&variable("OUT_DIR")).join("none").display());
    }
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in &files {
        let path = path.to_str().ok_or_else(|| io::Error::other(format!("{name} is in no UTF-8 folder")))?;
        writeln!(list, "    ({name:?}, include_bytes!({path:?})),").map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&variable("OUT_DIR")).join("page.rs"), list)
}

/// Finds all files in a folder, by their names from the page's folder on.
fn find(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| io::Error::other(format!("{name:?} is no UTF-8 name")))?;
        let name = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            find(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
