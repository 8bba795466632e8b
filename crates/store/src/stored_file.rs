//! A file that the manifest names.

use crate::Level;
use rusqlite::Row;
use std::path::{Path, PathBuf};

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its number, which no other file of the store has or had.
    pub number: u64,
    /// Where it is.
    pub path: PathBuf,
    /// What it has.
    pub level: Level,
    /// The observation point.
    pub node: String,
    /// The begin of its first window, nanoseconds since the epoch; of flow records the least `ltime`, at which they count.
    pub first_ns: u64,
    /// The begin of its last window; of flow records the greatest `ltime`.
    pub last_ns: u64,
    /// The length of its windows, nanoseconds; of flow records 0.
    pub window_ns: u64,
    /// Its rows. A file without rows tells that its windows had no packet.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// The parts of its key, as `--key` takes them.
    pub key: String,
    /// When it was written, nanoseconds since the epoch.
    pub created_ns: u64,
    /// It was made of several files of its hour.
    pub is_compacted: bool,
    /// Its rows are in the next rollup.
    pub is_rolled: bool,
}

impl StoredFile {
    /// The columns that [`StoredFile::of_row`] reads.
    pub(crate) const COLUMNS: &str = "number, path, level, node, first_ns, last_ns, window_ns, rows, bytes, key, created_ns, \
        compacted, rolled";

    /// `None` if it is of a level that is not known, or its path leads elsewhere.
    pub(crate) fn of_row(folder: &Path, row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (path, level): (String, String) = (row.get(1)?, row.get(2)?);
        let Some(level) = Level::of_name(&level).filter(|level| is_in(&path, *level)) else {
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

/// Whether a relative path is one below the level's folder: what another program wrote into a manifest has nothing deleted elsewhere.
fn is_in(path: &str, level: Level) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some(level.folder()) && parts.all(|part| !["", ".", ".."].contains(&part))
}
