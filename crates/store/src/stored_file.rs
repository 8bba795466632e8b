//! A file that the manifest names.

use crate::Level;
use rusqlite::Row;
use std::path::{Path, PathBuf};

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The number of the file, which no other file of the store has or had.
    pub number: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The level of the file.
    pub level: Level,
    /// The observation point.
    pub node: String,
    /// The begin of the first window, nanoseconds since the epoch; of flow records the least `ltime`, at which they count.
    pub first_ns: u64,
    /// The begin of the last window; of flow records the greatest `ltime`.
    pub last_ns: u64,
    /// The length of the windows, nanoseconds; of flow records 0.
    pub window_ns: u64,
    /// The number of rows. A file without rows tells that its windows had no packet.
    pub rows: u64,
    /// The size of the file, bytes.
    pub bytes: u64,
    /// The parts of the key, as `--key` takes them.
    pub key: String,
    /// The time at which the file was written, nanoseconds since the epoch.
    pub created_ns: u64,
    /// True if the file was made of several files of its hour.
    pub is_compacted: bool,
    /// True if the file's rows are in the next rollup.
    pub is_rolled: bool,
}

impl StoredFile {
    /// The columns that [`StoredFile::from_row`] reads.
    pub(crate) const COLUMNS: &str = "number, path, level, node, first_ns, last_ns, window_ns, rows, bytes, key, created_ns, \
        compacted, rolled";

    /// Reads a row of the manifest. `None` if it is of a level that is not known, or its path leads elsewhere.
    pub(crate) fn from_row(folder: &Path, row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (path, level): (String, String) = (row.get(1)?, row.get(2)?);
        let Some(level) = Level::from_name(&level).filter(|level| is_in(&path, *level)) else {
            return Ok(None);
        };
        let number = |at| row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or(0));
        Ok(Some(Self {
            number: number(0)?,
            path: folder.join(path),
            level,
            node: row.get(3)?,
            first_ns: number(4)?,
            last_ns: number(5)?,
            window_ns: number(6)?,
            rows: number(7)?,
            bytes: number(8)?,
            key: row.get(9)?,
            created_ns: number(10)?,
            is_compacted: row.get(11)?,
            is_rolled: row.get(12)?,
        }))
    }
}

/// Returns true if a relative path is one below the level's folder: what another program wrote into a manifest has nothing deleted elsewhere.
fn is_in(path: &str, level: Level) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some(level.folder()) && parts.all(|part| !["", ".", ".."].contains(&part))
}
