//! The folder that a study is written to.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A folder that can be written to.
#[derive(Debug)]
pub(crate) struct WritableFolder {
    path: PathBuf,
}

impl WritableFolder {
    /// Makes it, and the folder of what was measured within it, and tries to write there: before anything is measured.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let folder = Self { path: path.to_owned() };
        let measured = folder.path("measured");
        fs::create_dir_all(&measured).map_err(|error| wrong(&measured, &error))?;
        tempfile::tempfile_in(&measured).map_err(|error| wrong(&measured, &error))?;
        Ok(folder)
    }

    /// A file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The text of a file; `None` if there is none.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>, String> {
        let path = self.path(name);
        match fs::read(&path) {
            // What is damaged need not be text.
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(&path, &error)),
        }
    }

    /// Writes a file whole: whoever reads it sees the old text or the new one.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path(name);
        let write = || {
            let mut file =
                tempfile::Builder::new().prefix(".new").tempfile_in(path.parent().unwrap_or(&self.path))?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_data()?;
            readable(file.path())?;
            file.persist(&path).map_err(|error| error.error).map(drop)
        };
        write().map_err(|error| wrong(&path, &error))
    }

    /// Appends a line to a file. One that was cut off stays a line of its own.
    pub(crate) fn append(&self, name: &str, line: &str) -> Result<(), String> {
        let path = self.path(name);
        let append = || {
            let before = fs::read(&path).or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(Vec::new()),
                _ => Err(error),
            })?;
            let mut file = fs::File::options().create(true).append(true).open(&path)?;
            let cut_off = if before.last().is_some_and(|last| *last != b'\n') { "\n" } else { "" };
            file.write_all(format!("{cut_off}{line}\n").as_bytes())?;
            file.sync_data()
        };
        append().map_err(|error| wrong(&path, &error))
    }
}

/// Makes a file as readable as others: temporary ones are for their owner alone.
fn readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

fn wrong(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
