//! Who has seen a story.

use crate::{Archive, ArchiveError};
use report::{Story, integer, rfc3339};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Result};
use serde::{Deserialize, Serialize};

/// Who says that he has seen a story, and as much of it as he has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// When he said so, nanoseconds since the epoch.
    #[serde(rename = "at", with = "rfc3339")]
    pub at_ns: u64,
    /// The name of his token; `None` where nobody is asked who he is.
    pub by: Option<String>,
    /// What he wrote; may be empty.
    pub note: String,
    /// Events that the story had then. One that has more since has something new.
    #[serde(with = "integer")]
    pub events: u64,
}

/// How many events a story has.
pub fn events_of(story: &Story) -> u64 {
    story.events_unlisted.saturating_add(story.events.len() as u64)
}

impl Archive {
    /// Who has seen the story of this identifier; `None` where nobody says so, or there is no such story.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn acknowledgement(&self, story: &str) -> std::result::Result<Option<Acknowledgement>, ArchiveError> {
        let read = || -> Result<Option<Acknowledgement>> {
            let mut statement =
                self.connection.prepare_cached("SELECT acknowledgement FROM stories WHERE story = ?")?;
            let found = statement.query_row([story], |row| Ok(self.acknowledged(row.get_ref(0)?)));
            Ok(found.optional()?.flatten())
        };
        read().map_err(|error| self.failed(error))
    }

    /// Stores who has seen a story, in the place of who did before; with `None` nobody has. Returns whether there is such a story.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn acknowledge(
        &mut self,
        story: &str,
        acknowledgement: Option<&Acknowledgement>,
    ) -> std::result::Result<bool, ArchiveError> {
        let text = match acknowledgement.map(serde_json::to_string).transpose() {
            Ok(text) => text,
            Err(error) => return Err(ArchiveError::NoJson(format!("{story}: {error}"))),
        };
        let write = || -> Result<usize> {
            let statement = "UPDATE stories SET acknowledgement = ?2 WHERE story = ?1";
            self.connection.prepare_cached(statement)?.execute((story, text))
        };
        write().map(|changed| changed != 0).map_err(|error| self.failed(error))
    }

    /// What a row says; what is damaged is counted, and nobody has seen it.
    pub(crate) fn acknowledged(&self, value: ValueRef<'_>) -> Option<Acknowledgement> {
        match value {
            ValueRef::Null => None,
            value => self.body(value),
        }
    }
}
