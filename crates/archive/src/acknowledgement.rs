//! Acknowledgements of stories.

use crate::{Archive, ArchiveError};
use model::{Integer, Story, Time};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Result};
use serde::{Deserialize, Serialize};

/// A statement of a user that he has seen a story, up to a number of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Acknowledgement {
    /// The time of the statement.
    #[serde(rename = "at", with = "Time")]
    pub at_ns: u64,
    /// The name of the token of the user; `None` if the server has no tokens.
    pub by: Option<String>,
    /// The note of the user; may be empty.
    pub note: String,
    /// The number of events that the user had seen. A story with more events has news.
    #[serde(with = "Integer")]
    pub events: u64,
}

/// The number of events of a story.
pub fn events_of(story: &Story) -> u64 {
    story.events_unlisted.saturating_add(story.events.len() as u64)
}

impl Archive {
    /// The acknowledgement of the story with this identifier; `None` if the story is not acknowledged or does not exist.
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

    /// Replaces the acknowledgement of a story; `None` removes it. Returns whether the story exists.
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

    /// Reads a stored acknowledgement. A damaged one is counted and treated as missing.
    pub(crate) fn acknowledged(&self, value: ValueRef<'_>) -> Option<Acknowledgement> {
        match value {
            ValueRef::Null => None,
            value => self.body(value),
        }
    }
}
