//! The manifest, as its writer has it: the list of files.

use crate::catalog::signed;
use crate::digest::{self, Renewal};
use crate::lock::Lock;
use crate::schema::{self, APPLICATION, FORMAT, MANIFEST, TABLES, TIMES, TIMES_OF_BEFORE, WRITER};
use crate::{Level, RunBegin, StoredFile, Unstored, WatchedTime, fault};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Readers hold the file only while they begin.
const WAIT: Duration = Duration::from_secs(10);
const STATEMENTS: usize = 32;

/// A change of the manifest: after a crash there is all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestChange {
    /// Files that come. They are on the disk.
    pub added: Vec<StoredFile>,
    /// The numbers of files that go.
    pub removed: Vec<u64>,
    /// The numbers of files whose rows are in the next rollup now.
    pub rolled: Vec<u64>,
    /// The times until which rollups have all rows of a node now, unless a later one is known.
    pub until: Vec<(Level, String, u64)>,
    /// The times up to which levels have dropped files of nodes, unless a later one is known.
    pub dropped: Vec<(Level, String, u64)>,
    /// The times that were watched: entries that come, or are longer now.
    pub watched: Vec<WatchedTime>,
    /// The runs that begin. Their first entries are among `watched`.
    pub begun: Vec<RunBegin>,
    /// The runs that are over, by the numbers of their first entries.
    pub ended: Vec<(u64, Unstored)>,
}

/// The manifest of a store that no other process writes.
#[derive(Debug)]
pub struct Manifest {
    connection: Connection,
    folder: PathBuf,
    path: PathBuf,
    /// The number of the file that comes next.
    next: u64,
    /// The number of the entry about a time that comes next.
    next_entry: u64,
    /// The number from which on entries are of this writer, where the manifest does not say it yet.
    to_note: Option<u64>,
    renewal: Renewal,
    _lock: Lock,
}

impl Manifest {
    /// Opens the manifest of the store in a folder, or begins one there. The folder is made.
    ///
    /// # Errors
    /// Returns one line if another process writes the store, the manifest is something else or of a later version, or it cannot be written.
    pub fn open(folder: &Path) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| fault::describe_path_error(folder, &error))?;
        let lock = Lock::take(folder)?;
        let path = folder.join(MANIFEST);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(&path, flags);
        let mut connection = connection.map_err(|error| fault::describe_manifest_error(&path, &error))?;
        let [next, next_entry] = prepare(&mut connection, &path)?;
        // Where a disk is full, the first commit says it.
        let is_noted = note_at_once(&mut connection, next_entry).is_ok();
        Ok(Self {
            connection,
            folder: folder.to_owned(),
            path,
            next,
            next_entry,
            to_note: (!is_noted).then_some(next_entry),
            renewal: Renewal::default(),
            _lock: lock,
        })
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A number for a file that is to be written.
    pub fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// A number for an entry about a time that was watched.
    pub(crate) fn take_entry(&mut self) -> u64 {
        self.next_entry += 1;
        self.next_entry - 1
    }

    /// Makes a change, which is on the disk afterwards.
    ///
    /// # Errors
    /// Returns one line if the change cannot be written. Nothing has changed then.
    pub fn commit(&mut self, change: &ManifestChange) -> Result<(), String> {
        let failed = |error| fault::describe_manifest_error(&self.path, &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        self.to_note.map_or(Ok(()), |number| note(&transaction, number)).map_err(failed)?;
        write(&transaction, &self.folder, change).map_err(failed)?;
        self.renewal.renew(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.to_note = None;
        Ok(())
    }

    /// Returns all files, in the order of time.
    pub(crate) fn files(&self) -> Result<Vec<StoredFile>, String> {
        self.listed("true")
    }

    /// The files of a level, in the order of time.
    pub(crate) fn files_of(&self, level: Level) -> Result<Vec<StoredFile>, String> {
        self.listed(match level {
            Level::Rows => "level = 'rows'",
            Level::Flows => "level = 'flows'",
            Level::Minute => "level = '1min'",
            Level::Hour => "level = '1h'",
        })
    }

    /// Files of which something is true.
    fn listed(&self, condition: &str) -> Result<Vec<StoredFile>, String> {
        let columns = StoredFile::COLUMNS;
        let statement = format!("SELECT {columns} FROM files WHERE {condition} ORDER BY first_ns, number");
        let list = || {
            let mut statement = self.connection.prepare_cached(&statement)?;
            let rows = statement.query_map([], |row| StoredFile::from_row(&self.folder, row))?;
            rows.filter_map(Result::transpose).collect::<rusqlite::Result<_>>()
        };
        list().map_err(|error| fault::describe_manifest_error(&self.path, &error))
    }

    /// The number of files, and their bytes.
    pub(crate) fn totals(&self) -> Result<(u64, u64), String> {
        let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
        let read = || {
            let mut statement =
                self.connection.prepare_cached("SELECT count(*), coalesce(sum(bytes), 0) FROM files")?;
            statement.query_row([], |row| Ok((unsigned(row.get(0)?), unsigned(row.get(1)?))))
        };
        read().map_err(|error| fault::describe_manifest_error(&self.path, &error))
    }

    /// Bytes of the manifest itself, with what is not yet moved into it.
    pub(crate) fn own_bytes(&self) -> u64 {
        let size = |suffix: &str| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(suffix);
            fs::metadata(Path::new(&name)).map_or(0, |file| file.len())
        };
        ["", "-wal", "-shm"].into_iter().map(size).sum()
    }

    /// Moves what was committed into the manifest itself, so that it can be read where nothing can be written.
    pub fn close(&mut self) {
        // Without a checksum nothing is checked.
        let _ = digest::write(&self.connection);
        // A reader that is active prevents it, and then it stays as it is, which is also right.
        let _ = self.connection.pragma_update(None, "journal_mode", "DELETE");
    }
}

/// Checks whose file it is before anything in it changes. Returns the numbers of the next file and of the next entry about a time.
fn prepare(connection: &mut Connection, path: &Path) -> Result<[u64; 2], String> {
    let failed = |error| fault::describe_manifest_error(path, &error);
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_timeout(WAIT).map_err(failed)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    let known = schema::check(connection, path)?;
    if connection.is_readonly("main").map_err(failed)? {
        return Err(format!("{} may only be read: make it and its folder writable", path.display()));
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    // What is named survives a power failure, too.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20).map_err(failed)?;
    if known != Some(FORMAT) {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let is_right = known.is_some() && digest::is_right(&transaction).unwrap_or(false);
        if known.is_none() {
            transaction.execute_batch(TABLES).map_err(failed)?;
        }
        transaction.execute_batch(TIMES).map_err(failed)?;
        transaction.execute_batch(TIMES_OF_BEFORE).map_err(failed)?;
        let format = FORMAT.to_string();
        transaction.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?1)", [format]).map_err(failed)?;
        if is_right {
            digest::write(&transaction).map_err(failed)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", FORMAT).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    let next = |table: &str| {
        let last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
        let last: i64 = connection.query_row(last, [table], |row| row.get(0)).map_err(failed)?;
        Ok::<_, String>(u64::try_from(last).unwrap_or(0) + 1)
    };
    Ok([next("files")?, next("watched")?])
}

/// Notes from which number on entries about times are of this writer. What is damaged stays so.
fn note_at_once(connection: &mut Connection, number: u64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_right = digest::is_right(&transaction).unwrap_or(false);
    note(&transaction, number)?;
    if is_right {
        digest::write(&transaction)?;
    }
    transaction.commit()
}

fn note(transaction: &Transaction<'_>, number: u64) -> rusqlite::Result<()> {
    let statement = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
    transaction.execute(statement, params![WRITER, number.to_string()]).map(|_| ())
}

fn write(transaction: &Transaction<'_>, folder: &Path, change: &ManifestChange) -> rusqlite::Result<()> {
    let mut remove = transaction.prepare_cached("DELETE FROM files WHERE number = ?1")?;
    for number in &change.removed {
        remove.execute([signed(*number)])?;
    }
    let mut roll = transaction.prepare_cached("UPDATE files SET rolled = 1 WHERE number = ?1")?;
    for number in &change.rolled {
        roll.execute([signed(*number)])?;
    }
    let insert = format!(
        "INSERT INTO files ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        StoredFile::COLUMNS
    );
    let mut insert = transaction.prepare_cached(&insert)?;
    for file in &change.added {
        let path = file.path.strip_prefix(folder).unwrap_or(&file.path);
        insert.execute(params![
            signed(file.number),
            path.to_string_lossy(),
            file.level.name(),
            file.node,
            signed(file.first_ns),
            signed(file.last_ns),
            signed(file.window_ns),
            signed(file.rows),
            signed(file.bytes),
            file.key,
            signed(file.created_ns),
            file.is_compacted,
            file.is_rolled,
        ])?;
    }
    for (level, node, until_ns) in &change.until {
        let mut until = transaction.prepare_cached(
            "INSERT INTO rolled_up (level, node, until_ns) VALUES (?1, ?2, ?3)
             ON CONFLICT (level, node) DO UPDATE SET until_ns = max(until_ns, excluded.until_ns)",
        )?;
        until.execute(params![level.name(), node, signed(*until_ns)])?;
    }
    for (level, node, end_ns) in &change.dropped {
        let mut dropped = transaction.prepare_cached(
            "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
             WHERE CAST(excluded.value AS INTEGER) > CAST(value AS INTEGER)",
        )?;
        dropped.execute(params![schema::dropped(*level, node), signed(*end_ns).to_string()])?;
    }
    for RunBegin { run, node, source } in &change.begun {
        source.as_ref().map_or(Ok(()), |source| begin(transaction, *run, node, source))?;
    }
    for entry in &change.watched {
        let mut watched = transaction.prepare_cached(
            "INSERT INTO watched (number, run, node, kind, first_ns, end_ns, why) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (number) DO UPDATE SET first_ns = excluded.first_ns, end_ns = excluded.end_ns",
        )?;
        let WatchedTime { number, run, node, first_ns, end_ns, why, .. } = entry;
        let [number, run, first_ns, end_ns] = [number, run, first_ns, end_ns].map(|value| signed(*value));
        watched.execute(params![number, run, node, entry.kind(), first_ns, end_ns, why.name()])?;
    }
    for (run, why) in &change.ended {
        let mut end =
            transaction.prepare_cached("UPDATE watched SET why = ?2 WHERE run = ?1 AND why = 'killed'")?;
        end.execute(params![signed(*run), why.name()])?;
        forget_begin(transaction, *run)?;
    }
    Ok(())
}

/// Notes what a run that begins reads. One of the same node and source that was killed has its place no more: what that one
/// has not stored comes again.
fn begin(transaction: &Transaction<'_>, run: u64, node: &str, source: &str) -> rusqlite::Result<()> {
    let mut earlier = transaction.prepare_cached(
        "SELECT number FROM watched JOIN meta ON name = 'begun ' || number WHERE node = ?1 AND kind = 'recorded' AND value = ?2",
    )?;
    let earlier = earlier.query_map(params![node, source], |row| row.get::<_, i64>(0))?;
    for run in earlier.collect::<rusqlite::Result<Vec<_>>>()? {
        forget_begin(transaction, u64::try_from(run).unwrap_or(0))?;
    }
    let mut note = transaction.prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)")?;
    note.execute(params![schema::begun(run), source]).map(|_| ())
}

/// Forgets the begin of a run, which is told no more.
fn forget_begin(transaction: &Transaction<'_>, run: u64) -> rusqlite::Result<()> {
    let mut entry =
        transaction.prepare_cached("DELETE FROM watched WHERE number = ?1 AND first_ns = end_ns")?;
    entry.execute([signed(run)])?;
    let mut note = transaction.prepare_cached("DELETE FROM meta WHERE name = ?1")?;
    note.execute([schema::begun(run)]).map(|_| ())
}
