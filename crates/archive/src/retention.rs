//! How much is kept.

use crate::Keep;
use rusqlite::{Connection, Result};

/// How many rows there are. No other process changes the file while it is open, so they are counted once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) answers: u64,
    pub(crate) events: u64,
    pub(crate) stories: u64,
}

impl Held {
    pub(crate) fn count(connection: &Connection) -> Result<Self> {
        let count = |table| {
            connection
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
                .map(i64::cast_unsigned)
        };
        Ok(Self { answers: count("answers")?, events: count("events")?, stories: count("stories")? })
    }
}

/// Drops what is more than is to be kept.
pub(crate) fn trim(connection: &Connection, keep: Keep, held: &mut Held) -> Result<()> {
    let surplus = held.stories.saturating_sub(keep.events);
    if surplus != 0 {
        let statement =
            "UPDATE events SET story = NULL WHERE story IN (SELECT story FROM stories ORDER BY id LIMIT ?)";
        of_first(connection, statement, surplus)?;
    }
    for (table, held, keep) in [
        ("answers", &mut held.answers, keep.answers),
        ("events", &mut held.events, keep.events),
        ("stories", &mut held.stories, keep.events),
    ] {
        let surplus = held.saturating_sub(keep);
        if surplus != 0 {
            let first = format!("SELECT id FROM {table} ORDER BY id LIMIT ?");
            *held -= of_first(connection, &format!("DELETE FROM {table} WHERE id IN ({first})"), surplus)?;
        }
    }
    Ok(())
}

/// Carries out a statement for so many rows that were stored first. Returns how many rows it changed.
fn of_first(connection: &Connection, statement: &str, rows: u64) -> Result<u64> {
    // No file has more rows than fit.
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(statement)?.execute([rows])? as u64)
}
