//! Answers and events by the numbers under which they were stored: what sends all of them elsewhere continues after one.

use crate::column::text;
use crate::read::limit;
use crate::{Archive, ArchiveError};
use rusqlite::{OptionalExtension, Result};

/// Bytes that are read at once, unless a single one has more.
const MOST_BYTES: usize = 4 << 20;

/// The kind of entries that are read by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbered {
    /// Answers.
    Answers,
    /// Events.
    Events,
}

impl Numbered {
    /// The name of the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Events => "events",
        }
    }
}

impl Archive {
    /// The entries after a number, in the order in which they were stored, up to a limit: the number of each, and its JSON, which may be
    /// damaged. Numbers follow one another: what is missing before the first was dropped. One that was replaced keeps its number.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn after(
        &self,
        of: Numbered,
        number: u64,
        most: u64,
    ) -> std::result::Result<Vec<(u64, Vec<u8>)>, ArchiveError> {
        let read = || -> Result<Vec<(u64, Vec<u8>)>> {
            let table = of.name();
            let statement = format!("SELECT id, body FROM {table} WHERE id > ? ORDER BY id LIMIT ?");
            let mut statement = self.connection.prepare_cached(&statement)?;
            let mut rows = statement.query([limit(number), limit(most)])?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let body = text(row.get_ref(1)?);
                bytes += body.len();
                if bytes > MOST_BYTES && !found.is_empty() {
                    break;
                }
                found.push((row.get::<_, i64>(0)?.cast_unsigned(), body.to_vec()));
            }
            Ok(found)
        };
        read().map_err(|error| self.failed(error))
    }

    /// The first number and the last; `None` if there are none. Where all were dropped, numbers begin anew.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn numbers(&self, of: Numbered) -> std::result::Result<Option<[u64; 2]>, ArchiveError> {
        let read = || -> Result<Option<[u64; 2]>> {
            let end = |order: &str| -> Result<Option<i64>> {
                let statement = format!("SELECT id FROM {} ORDER BY id {order} LIMIT 1", of.name());
                self.connection.prepare_cached(&statement)?.query_row([], |row| row.get(0)).optional()
            };
            Ok(end("ASC")?.zip(end("DESC")?).map(|(first, last)| [first, last].map(i64::cast_unsigned)))
        };
        read().map_err(|error| self.failed(error))
    }
}
