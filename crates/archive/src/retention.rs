//! Limits of what is kept.

use crate::ArchiveRetention;
use rusqlite::{Connection, Result};

/// The numbers of rows that there are. No other process changes the file while it is open, so they are counted once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchiveCounts {
    pub(crate) answers: u64,
    pub(crate) events: u64,
    pub(crate) stories: u64,
    pub(crate) captures: u64,
    /// Bytes of the files of captures.
    pub(crate) capture_bytes: u64,
}

impl ArchiveCounts {
    pub(crate) fn count(connection: &Connection) -> Result<Self> {
        let count = |table| {
            connection
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
                .map(i64::cast_unsigned)
        };
        let bytes = "SELECT coalesce(sum(length(content)), 0) FROM captures WHERE content IS NOT NULL";
        Ok(Self {
            answers: count("answers")?,
            events: count("events")?,
            stories: count("stories")?,
            captures: count("captures")?,
            capture_bytes: connection.query_row(bytes, [], |row| row.get(0)).map(i64::cast_unsigned)?,
        })
    }
}

/// Drops what is more than is to be kept.
pub(crate) fn trim(connection: &Connection, keep: ArchiveRetention, held: &mut ArchiveCounts) -> Result<()> {
    let surplus = held.stories.saturating_sub(keep.events);
    if surplus != 0 {
        let statement =
            "UPDATE events SET story = NULL WHERE story IN (SELECT story FROM stories ORDER BY id LIMIT ?)";
        execute_on_oldest(connection, statement, surplus)?;
    }
    trim_captures(connection, keep, held)?;
    for (table, held, keep) in [
        ("answers", &mut held.answers, keep.answers),
        ("events", &mut held.events, keep.events),
        ("stories", &mut held.stories, keep.events),
    ] {
        let surplus = held.saturating_sub(keep);
        if surplus != 0 {
            let first = format!("SELECT id FROM {table} ORDER BY id LIMIT ?");
            *held -= execute_on_oldest(
                connection,
                &format!("DELETE FROM {table} WHERE id IN ({first})"),
                surplus,
            )?;
        }
    }
    Ok(())
}

/// Drops the first captures, and the files of the first of those that stay.
fn trim_captures(connection: &Connection, keep: ArchiveRetention, held: &mut ArchiveCounts) -> Result<()> {
    let first = "SELECT id, coalesce(length(content), 0) FROM captures ORDER BY id LIMIT 1";
    while held.captures > keep.captures {
        let (id, bytes): (i64, i64) =
            connection.prepare_cached(first)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        connection.prepare_cached("DELETE FROM captures WHERE id = ?")?.execute([id])?;
        held.captures -= 1;
        held.capture_bytes -= bytes.cast_unsigned();
    }
    let first = "SELECT id, length(content) FROM captures WHERE content IS NOT NULL ORDER BY id LIMIT 1";
    while held.capture_bytes > keep.capture_bytes {
        let (id, bytes): (i64, i64) =
            connection.prepare_cached(first)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let statement = "UPDATE captures SET content = NULL, is_dropped = 1 WHERE id = ?";
        connection.prepare_cached(statement)?.execute([id])?;
        held.capture_bytes -= bytes.cast_unsigned();
    }
    Ok(())
}

/// Executes a statement on the `rows` oldest rows. Returns the number of rows that it changed.
fn execute_on_oldest(connection: &Connection, statement: &str, rows: u64) -> Result<u64> {
    // No file has more rows than fit.
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(statement)?.execute([rows])? as u64)
}
