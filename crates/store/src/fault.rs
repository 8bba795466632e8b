//! Faults of a store that cannot be used: one line that names the place and what to do.

use rusqlite::ErrorCode;
use std::io;
use std::path::Path;

/// The words of a line about a manifest that is damaged.
const DAMAGED: &str = " is damaged";

/// Returns true if a line says that the manifest of a store is damaged.
pub fn is_damage(line: &str) -> bool {
    line.contains(DAMAGED)
}

/// A fault of the manifest.
pub(crate) fn describe_manifest_error(path: &Path, error: &rusqlite::Error) -> String {
    let why = error.to_string().replace('\n', " ");
    let path = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => format!("{path} is no manifest of a store: name another folder"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("{path} is in use for longer than is usual: try again")
        }
        // Tables, columns or values that a whole manifest has are not there.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) | None => {
            format!("{path}{DAMAGED} ({why}): move the store's folder away to begin a new one")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            format!("{path}: {why}: make it and its folder accessible")
        }
        Some(ErrorCode::DiskFull) => format!("{path}: {why}: make room on its file system"),
        _ => format!("{path}: {why}"),
    }
}

/// A fault of a file or folder.
pub(crate) fn describe_path_error(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
