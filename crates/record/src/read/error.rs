//! Errors of a flow file.

use std::fmt;
use std::path::{Path, PathBuf};

/// The reason why a flow file cannot be read, or not to its end. Its text is one line and begins with the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    path: PathBuf,
    reason: String,
    is_damage: bool,
}

impl ReadError {
    /// Returns the error of a file that cannot be opened, or is no flow file.
    pub(crate) fn not_flows(path: &Path, reason: impl fmt::Display) -> Self {
        // Some reasons begin with the name already.
        let name = format!("{}: ", path.display());
        let reason = reason.to_string();
        let reason = reason.strip_prefix(&name).map_or(reason.clone(), str::to_owned);
        Self { path: path.to_owned(), reason, is_damage: false }
    }

    /// Returns the error of a file that is damaged from some place on.
    pub fn damaged(path: &Path, reason: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), reason: format!("damaged: {reason}"), is_damage: true }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if it is a flow file, of which a part can be read.
    pub fn is_damage(&self) -> bool {
        self.is_damage
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for ReadError {}
