//! The tables of the manifest, and the check of whose file it is.

use crate::{Level, fault};
use rusqlite::Connection;
use std::path::Path;

/// The manifest's name in the store's folder.
pub(crate) const MANIFEST: &str = "manifest.sqlite";
/// Marks the file as the manifest of a store: `EdSt`.
pub(crate) const APPLICATION: u32 = 0x4564_5374;
/// Version of the store's format.
pub(crate) const FORMAT: u32 = 2;
/// The format before: it does not tell which times were watched.
pub(crate) const FORMAT_WITHOUT_TIMES: u32 = 1;

/// `rolled` says that the rows of a file are in the next rollup, and `compacted` that it was made of segments. `number` is that of the
/// file's name, which no other file of the store has or had. Times are nanoseconds since the epoch.
pub(crate) const TABLES: &str = "
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    level TEXT NOT NULL,
    node TEXT NOT NULL,
    first_ns INTEGER NOT NULL,
    last_ns INTEGER NOT NULL,
    window_ns INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    key TEXT NOT NULL,
    created_ns INTEGER NOT NULL,
    compacted INTEGER NOT NULL,
    rolled INTEGER NOT NULL
) STRICT;
CREATE INDEX files_time ON files (level, node, first_ns);
CREATE INDEX files_end ON files (level, last_ns);
CREATE TABLE rolled_up (
    level TEXT NOT NULL,
    node TEXT NOT NULL,
    until_ns INTEGER NOT NULL,
    PRIMARY KEY (level, node)
) STRICT, WITHOUT ROWID;
";

/// The name in `meta` of the time up to where a level has dropped files of a node.
pub(crate) fn dropped(level: Level, node: &str) -> String {
    format!("dropped {level} {node}")
}

/// The name in `meta` of what a run reads that has not ended.
pub(crate) fn begun(run: u64) -> String {
    format!("begun {run}")
}

/// The name in `meta` of the number from which on entries about times are of the last writer.
pub(crate) const WRITER: &str = "writer";

/// The table of the times that were watched, and of those that could not be written (`kind` is `lost`). `run` is the number of the first entry
/// of a run, which is of no length, tells that the run has begun, and is dropped when the run ends; `why` says why nothing of the run follows,
/// or is not stored.
pub(crate) const TIMES: &str = "
CREATE TABLE watched (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    node TEXT NOT NULL,
    kind TEXT NOT NULL,
    first_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    why TEXT NOT NULL
) STRICT;
CREATE INDEX watched_run ON watched (run);
";

/// Notes what a store of the format before has as watched by one that did not note it.
pub(crate) const TIMES_OF_BEFORE: &str = "
INSERT INTO watched (run, node, kind, first_ns, end_ns, why)
SELECT 0, node, 'unknown', min(first_ns), max(last_ns + window_ns), 'stopped' FROM files WHERE level <> 'flows' GROUP BY node;
";

/// The format of the manifest that the file is; `None` if it is empty.
///
/// # Errors
/// Returns one line if the file is something else, or of a later version.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<Option<u32>, String> {
    let failed = |error| fault::describe_manifest_error(path, &error);
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).map_err(failed);
    let (application, format) = (number("application_id")?, number("user_version")?);
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    let path = path.display();
    match (application, format, tables.map_err(failed)?) {
        (0, 0, 0) => Ok(None),
        (APPLICATION, FORMAT_WITHOUT_TIMES | FORMAT, _) => Ok(Some(format)),
        (APPLICATION, format, _) => Err(format!(
            "{path} is the manifest of a store of format {format}, this version knows {FORMAT}: use the version that wrote it, or name \
             another folder"
        )),
        _ => Err(format!("{path} is no manifest of a store: name another folder")),
    }
}
