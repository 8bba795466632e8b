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
    if held.answers > keep.answers {
        held.answers -= drop_first(
            connection,
            "DELETE FROM answers WHERE id IN (SELECT id FROM answers ORDER BY id LIMIT ?)",
            held.answers - keep.answers,
        )?;
    }
    if held.events > keep.events {
        held.events -= drop_first(
            connection,
            "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?)",
            held.events - keep.events,
        )?;
    }
    if held.stories > keep.events {
        let surplus = held.stories - keep.events;
        drop_first(
            connection,
            "UPDATE events SET story = NULL
             WHERE story IN (SELECT story FROM stories ORDER BY id LIMIT ?)",
            surplus,
        )?;
        held.stories -= drop_first(
            connection,
            "DELETE FROM stories WHERE id IN (SELECT id FROM stories ORDER BY id LIMIT ?)",
            surplus,
        )?;
    }
    Ok(())
}

fn drop_first(connection: &Connection, statement: &str, surplus: u64) -> Result<u64> {
    // No file has more rows than fit.
    let surplus = i64::try_from(surplus).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(statement)?.execute([surplus])? as u64)
}
