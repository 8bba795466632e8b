//! The catalog of a store for those who read it.

use crate::digest;
use crate::fault;
use crate::schema::{self, FORMAT_WITHOUT_TIMES, MANIFEST};
use crate::{Level, StoredFile, WatchedTime, lock};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A writer that begins holds the manifest for a moment.
const WAIT: Duration = Duration::from_secs(5);

/// The files of a store, as its manifest names them. A writer may be active meanwhile.
///
/// What is read stands for the moment: a file that was listed may have been replaced by another one since, or dropped. A reader
/// that has it open reads it to its end, and one that does not find it asks again. Each row is in the files of [`Level::Rows`] and, where
/// these are [`StoredFile::is_rolled`], in those of the next rollup: [`Catalog::at_once`] lists both as of one moment.
#[derive(Debug)]
pub struct Catalog {
    connection: Connection,
    folder: PathBuf,
    /// The manifest, for messages.
    path: PathBuf,
}

impl Catalog {
    /// Opens the store in a folder.
    ///
    /// # Errors
    /// Returns one line if there is no store, it is of a later version, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, String> {
        if let Some(catalog) = Self::begun(folder)? {
            return Ok(catalog);
        }
        let path = folder.join(MANIFEST);
        Err(match (folder.is_dir(), path.is_file()) {
            (false, _) => format!("{}: no such folder: name that of a store", folder.display()),
            (true, false) => format!(
                "{} is no store: it has no {MANIFEST}; --store of a measurement makes one",
                folder.display()
            ),
            (true, true) => format!("{} is empty: its writer has not begun; try again", path.display()),
        })
    }

    /// Opens the store in a folder; `None` where no store has begun in the folder yet.
    ///
    /// # Errors
    /// Returns one line if the manifest is something else or of a later version, or cannot be read.
    pub fn begun(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(MANIFEST);
        if !path.is_file() {
            return Ok(None);
        }
        let connection = open(&path).map_err(|error| fault::describe_manifest_error(&path, &error))?;
        let has_begun = schema::check(&connection, &path)?.is_some();
        Ok(has_begun.then(|| Self { connection, folder: folder.to_owned(), path }))
    }

    /// Answers several questions about one moment: what a writer changes meanwhile is in none of the answers.
    ///
    /// # Errors
    /// Returns the errors of `read`, and one line if the manifest cannot be read.
    pub fn at_once<T>(&self, read: impl FnOnce(&Self) -> Result<T, String>) -> Result<T, String> {
        let failed = |error| fault::describe_manifest_error(&self.path, &error);
        let _moment = self.connection.unchecked_transaction().map_err(failed)?;
        read(self)
    }

    /// Returns the path of the manifest.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the records of the manifest are those that were written, as far as it has a checksum of them.
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn is_right(&self) -> Result<bool, String> {
        digest::is_right(&self.connection).map_err(|error| fault::describe_manifest_error(&self.path, &error))
    }

    /// The files of a level that have windows, or records, in a period: from its begin to before its end, nanoseconds since the epoch.
    /// `None`: all. They are in the order of time.
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn files(&self, level: Level, period: Option<Range<u64>>) -> Result<Vec<StoredFile>, String> {
        self.listed(level, period).map_err(|error| fault::describe_manifest_error(&self.path, &error))
    }

    fn listed(&self, level: Level, period: Option<Range<u64>>) -> rusqlite::Result<Vec<StoredFile>> {
        let Range { start, end } = period.unwrap_or(0..u64::MAX);
        let columns = StoredFile::COLUMNS;
        // A window that began before is in the period as long as it lasts.
        let statement = format!(
            "SELECT {columns} FROM files NOT INDEXED WHERE level = ?1 AND first_ns < ?3 AND last_ns + max(window_ns, 1) > ?2
             ORDER BY first_ns, number"
        );
        let mut statement = self.connection.prepare_cached(&statement)?;
        let rows = statement.query_map(params![level.name(), signed(start), signed(end)], |row| {
            StoredFile::from_row(&self.folder, row)
        })?;
        rows.filter_map(Result::transpose).collect()
    }

    /// Returns the time until which a rollup has all rows of a node, nanoseconds since the epoch; `None` if it has none. What is later is in
    /// rows only. So is for a while what a clock that was set back has measured of an earlier time: its files are not [`StoredFile::is_rolled`].
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn complete_until(&self, level: Level, node: &str) -> Result<Option<u64>, String> {
        let until = self.connection.query_row(
            "SELECT until_ns FROM rolled_up WHERE level = ?1 AND node = ?2",
            params![level.name(), node],
            |row| row.get::<_, i64>(0),
        );
        let until = until.optional().map_err(|error| fault::describe_manifest_error(&self.path, &error))?;
        Ok(until.map(|until| u64::try_from(until).unwrap_or(0)))
    }

    /// Returns the time up to which a level has dropped files of a node, nanoseconds since the epoch; `None` if it has dropped none since that
    /// is noted.
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn dropped_until(&self, level: Level, node: &str) -> Result<Option<u64>, String> {
        let name = schema::dropped(level, node);
        let statement = "SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?1";
        let until = self.connection.query_row(statement, [name], |row| row.get::<_, i64>(0)).optional();
        let until = until.map_err(|error| fault::describe_manifest_error(&self.path, &error))?;
        Ok(until.and_then(|until| u64::try_from(until).ok()))
    }

    /// Returns the times that were watched, in the order in which that was noted; `None` if the manifest is of a version that did not note it.
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn watched(&self) -> Result<Option<Vec<WatchedTime>>, String> {
        // A writer may have brought it to this version since it was opened.
        if schema::check(&self.connection, &self.path)? == Some(FORMAT_WITHOUT_TIMES) {
            return Ok(None);
        }
        let list = || {
            let statement = format!("SELECT {} FROM watched ORDER BY number", WatchedTime::COLUMNS);
            let mut statement = self.connection.prepare_cached(&statement)?;
            let rows = statement.query_map([], WatchedTime::from_row)?;
            rows.filter_map(Result::transpose).collect::<rusqlite::Result<_>>()
        };
        list().map(Some).map_err(|error| fault::describe_manifest_error(&self.path, &error))
    }

    /// Returns true if a process writes the store now.
    pub fn is_written(&self) -> bool {
        lock::is_taken(&self.folder)
    }

    /// The number from which on entries about times are of the last process that began to write the store. A run of an earlier one is over.
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn last_writer(&self) -> Result<u64, String> {
        let statement = "SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?1";
        let number =
            self.connection.query_row(statement, [schema::WRITER], |row| row.get::<_, i64>(0)).optional();
        let number = number.map_err(|error| fault::describe_manifest_error(&self.path, &error))?;
        Ok(number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0))
    }

    /// The observation points that files are of.
    ///
    /// # Errors
    /// Returns one line if the manifest cannot be read.
    pub fn nodes(&self) -> Result<Vec<String>, String> {
        let list = || {
            let mut statement = self
                .connection
                .prepare_cached("SELECT DISTINCT node FROM files NOT INDEXED ORDER BY node")?;
            let names = statement.query_map([], |row| row.get(0))?;
            names.collect::<rusqlite::Result<_>>()
        };
        list().map_err(|error| fault::describe_manifest_error(&self.path, &error))
    }
}

/// A time as SQLite has it: what is after the year 2262 becomes its last nanosecond.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    // No URI: a name is a name, whatever it looks like.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(WAIT)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}
