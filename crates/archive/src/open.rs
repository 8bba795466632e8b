//! Opening of an archive, and the check of whose file it is.

use crate::retention::{self, ArchiveCounts};
use crate::schema::{APPLICATION, STEPS, VERSION};
use crate::silence;
use crate::{Archive, ArchiveError, ArchiveRetention};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that just ended may still hold the file.
const WAIT: Duration = Duration::from_millis(500);
const STATEMENTS: usize = 64;

impl Archive {
    /// Opens the archive in this file, or begins one there if there is no file. One of an earlier version becomes one of this. Drops what is more than is to be kept.
    ///
    /// # Errors
    /// If the file is something else, of a later version, damaged, open elsewhere, or cannot be written.
    pub fn open(path: impl AsRef<Path>, keep: ArchiveRetention) -> Result<Self, ArchiveError> {
        let path = path.as_ref();
        let not_opened = |why: &str| ArchiveError::NotOpened { path: path.to_owned(), why: why.to_owned() };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(not_opened("its folder does not exist: make it first"));
        }
        if path.is_dir() {
            return Err(not_opened("it is a folder: name a file in it"));
        }
        // No URI: a name is a name, whatever it looks like.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| ArchiveError::from_sqlite(path, error))?;
        Self::begin(connection, path.to_owned(), keep)
    }

    /// An archive that ends with the process.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn in_memory(keep: ArchiveRetention) -> Result<Self, ArchiveError> {
        let path = PathBuf::from("in memory");
        let connection =
            Connection::open_in_memory().map_err(|error| ArchiveError::from_sqlite(&path, error))?;
        Self::begin(connection, path, keep)
    }

    fn begin(
        mut connection: Connection,
        path: PathBuf,
        keep: ArchiveRetention,
    ) -> Result<Self, ArchiveError> {
        let held = prepare(&mut connection, &path, keep)?;
        let silences = silence::read_all(&connection);
        let (silences, damaged) = silences.map_err(|error| ArchiveError::from_sqlite(&path, error))?;
        Ok(Self { connection, path, keep, held, silences, damaged: Cell::new(damaged) })
    }
}

/// Checks whose file it is before anything in it changes.
fn prepare(
    connection: &mut Connection,
    path: &Path,
    keep: ArchiveRetention,
) -> Result<ArchiveCounts, ArchiveError> {
    let failed = |error| ArchiveError::from_sqlite(path, error);
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_timeout(WAIT).map_err(failed)?;
    // Held until the end of the process: what is counted in memory stays true.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(failed)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    let version = check(connection, path)?;
    if connection.is_readonly("main").map_err(failed)? {
        let why = "it may only be read: make it and its folder writable".to_owned();
        return Err(ArchiveError::NotOpened { path: path.to_owned(), why });
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    // What is acknowledged to a broker survives a power failure, too.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    // A burst leaves no large file behind.
    connection.pragma_update(None, "journal_size_limit", 64 << 20).map_err(failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    if version != VERSION {
        for step in &STEPS[version as usize..] {
            transaction.execute_batch(step).map_err(failed)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    }
    let mut held = ArchiveCounts::count(&transaction).map_err(failed)?;
    retention::trim(&transaction, keep, &mut held).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(held)
}

/// The version of the archive in the file, which is this one or an earlier one; 0 if the file is empty.
fn check(connection: &Connection, path: &Path) -> Result<u32, ArchiveError> {
    let failed = |error| ArchiveError::from_sqlite(path, error);
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).map_err(failed);
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    match (application, version, tables.map_err(failed)?) {
        (0, 0, 0) => Ok(0),
        (APPLICATION, 1..=VERSION, _) => Ok(version),
        (APPLICATION, version, _) if version > VERSION => {
            Err(ArchiveError::Newer { path: path.to_owned(), version })
        }
        _ => Err(ArchiveError::Foreign(path.to_owned())),
    }
}
