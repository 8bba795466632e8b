//! Captures and their files.

use crate::read::Conditions;
use crate::retention::ArchiveCounts;
use crate::{
    Archive, ArchiveError, CaptureFileState, CaptureFilter, EndedCapture, MOST_CONTENT, StoredCapture,
};
use model::{Capture, parse_time};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

/// The columns that are read of a capture.
const COLUMNS: &str =
    "captures.body, captures.content IS NOT NULL, captures.is_dropped, events.at, events.story";
const TABLES: &str = "captures LEFT JOIN events ON events.event = captures.event";

/// Stores a capture; one of the same event and node keeps its place.
pub(crate) fn put(
    connection: &Connection,
    ended: &EndedCapture,
    body: &str,
    held: &mut ArchiveCounts,
) -> Result<()> {
    let Capture { event, node, .. } = &ended.capture;
    let content = ended.content.as_ref().filter(|content| content.len() <= MOST_CONTENT);
    let before: Option<i64> = connection
        .prepare_cached("SELECT coalesce(length(content), 0) FROM captures WHERE event = ? AND node = ?")?
        .query_row([event, node], |row| row.get(0))
        .optional()?;
    connection
        .prepare_cached(
            "INSERT INTO captures (event, node, body, content, is_dropped) VALUES (?, ?, ?, ?, 0)
             ON CONFLICT (event, node)
             DO UPDATE SET body = excluded.body, content = excluded.content, is_dropped = 0",
        )?
        .execute(params![event, node, body, content])?;
    held.captures += u64::from(before.is_none());
    held.capture_bytes -= before.unwrap_or(0).cast_unsigned();
    held.capture_bytes += content.map_or(0, |content| content.len() as u64);
    Ok(())
}

impl Archive {
    /// The newest captures that pass, the first that ended first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn captures(&self, filter: &CaptureFilter) -> std::result::Result<Vec<StoredCapture>, ArchiveError> {
        let mut conditions = Conditions::default();
        conditions.add("captures.event = ?", filter.event.clone());
        conditions.add("events.story = ?", filter.story.clone());
        let statement =
            format!("SELECT {COLUMNS} FROM {TABLES}{} ORDER BY captures.id DESC LIMIT ?", conditions.text);
        let listing = self.list(&statement, conditions, filter.limit, |row| self.stored(row))?;
        Ok(listing.items)
    }

    /// The capture of an event on a node, and its file, if that is here.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn capture(
        &self,
        event: &str,
        node: &str,
    ) -> std::result::Result<Option<(StoredCapture, Vec<u8>)>, ArchiveError> {
        let read = || -> Result<Option<(StoredCapture, Vec<u8>)>> {
            let statement = format!(
                "SELECT {COLUMNS}, captures.content FROM {TABLES} WHERE captures.event = ? AND captures.node = ?"
            );
            let parameters: [&dyn ToSql; 2] = [&event, &node];
            let found = self.connection.prepare_cached(&statement)?.query_row(&parameters[..], |row| {
                let content: Option<Vec<u8>> = row.get(5)?;
                Ok(self.stored(row)?.map(|stored| (stored, content.unwrap_or_default())))
            });
            Ok(found.optional()?.flatten())
        };
        read().map_err(|error| self.failed(error))
    }

    fn stored(&self, row: &Row<'_>) -> Result<Option<StoredCapture>> {
        let Some(capture) = self.body::<Capture>(row.get_ref(0)?) else { return Ok(None) };
        let (is_kept, is_dropped): (bool, bool) = (row.get(1)?, row.get(2)?);
        let content = match (is_kept, is_dropped, &capture) {
            (true, ..) => CaptureFileState::Kept,
            (_, true, _) => CaptureFileState::Dropped,
            (_, _, Capture { file: Some(_), refused: None, .. }) => CaptureFileState::TooLarge,
            _ => CaptureFileState::None,
        };
        let at_ns = row.get::<_, Option<String>>(3)?.and_then(|at| parse_time(&at));
        Ok(Some(StoredCapture { capture, at_ns, story: row.get(4)?, content }))
    }
}
