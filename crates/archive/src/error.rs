//! Errors of an archive.

use crate::schema::VERSION;
use rusqlite::ErrorCode;
use std::fmt;
use std::path::{Path, PathBuf};

/// The reason why an archive cannot be opened, written or read: one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveError {
    /// A file that is something else.
    Foreign(PathBuf),
    /// A file that was written by a later version.
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file's schema.
        version: u32,
    },
    /// A file that another process has open.
    Locked(PathBuf),
    /// A file that cannot be opened.
    NotOpened {
        /// The file.
        path: PathBuf,
        /// The reason why, and what to do.
        why: String,
    },
    /// A file that is damaged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage that SQLite found.
        why: String,
    },
    /// An item that cannot be written as JSON.
    NoJson(String),
    /// A failure of reading or writing.
    Failed {
        /// The file.
        path: PathBuf,
        /// The message of SQLite.
        why: String,
    },
}

impl ArchiveError {
    /// The error of an open archive.
    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let why = error.to_string().replace('\n', " ");
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, why },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::NotOpened { path, why: format!("{why}: it and its folder must be writable") }
            }
            Some(ErrorCode::DiskFull) => {
                Self::Failed { path, why: format!("{why}: make room on its file system") }
            }
            _ => Self::Failed { path, why },
        }
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(path) => {
                write!(f, "{} is no archive of Edison: name another file", path.display())
            }
            Self::Newer { path, version } => {
                let (path, own) = (path.display(), VERSION);
                write!(
                    f,
                    "the archive {path} has schema {version}, this version knows {own}: use the version that wrote it, or name another file"
                )
            }
            Self::Locked(path) => {
                write!(
                    f,
                    "another process has the archive {} open: stop it, or name another file",
                    path.display()
                )
            }
            Self::NotOpened { path, why } => write!(f, "cannot open the archive {}: {why}", path.display()),
            Self::Damaged { path, why } => {
                write!(
                    f,
                    "the archive {} is damaged ({why}): move it away to begin a new one",
                    path.display()
                )
            }
            Self::NoJson(why) => write!(f, "cannot store what is no JSON: {why}"),
            Self::Failed { path, why } => write!(f, "the archive {}: {why}", path.display()),
        }
    }
}

impl std::error::Error for ArchiveError {}
