//! Reading stories.

use crate::read::limit;
use crate::{Archive, ArchiveError, StoryEntry};
use model::{Event, Story, parse_time};
use rusqlite::{OptionalExtension, Result};

impl Archive {
    /// The story of this identifier, or the one that the event of this identifier is part of.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn story(&self, id: &str) -> std::result::Result<Option<Story>, ArchiveError> {
        let read = || -> Result<Option<Story>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT body FROM stories WHERE story = ?1
                 UNION ALL
                 SELECT body FROM stories WHERE story = (SELECT story FROM events WHERE event = ?1)
                 LIMIT 1",
            )?;
            let story = statement.query_row([id], |row| Ok(self.body(row.get_ref(0)?))).optional()?;
            Ok(story.flatten())
        };
        read().map_err(|error| self.failed(error))
    }

    /// The identifier of the story that an event is part of.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn story_of(&self, event: &str) -> std::result::Result<Option<String>, ArchiveError> {
        let read = || -> Result<Option<String>> {
            let mut statement = self.connection.prepare_cached("SELECT story FROM events WHERE event = ?")?;
            Ok(statement.query_row([event], |row| row.get(0)).optional()?.flatten())
        };
        read().map_err(|error| self.failed(error))
    }

    /// The events that a story lists, in its order; without those that are kept no more.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn story_events(&self, story: &Story) -> std::result::Result<Vec<Event>, ArchiveError> {
        let read = || -> Result<Vec<Event>> {
            let mut statement = self.connection.prepare_cached("SELECT body FROM events WHERE event = ?")?;
            let mut events = Vec::new();
            for id in &story.events {
                let event = statement.query_row([id], |row| Ok(self.body(row.get_ref(0)?))).optional()?;
                events.extend(event.flatten());
            }
            Ok(events)
        };
        read().map_err(|error| self.failed(error))
    }

    /// The newest stories, the newest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn stories(&self, most: u64) -> std::result::Result<Vec<StoryEntry>, ArchiveError> {
        let read = || -> Result<Vec<StoryEntry>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT body, at, query, node, acknowledgement FROM stories ORDER BY at DESC, id DESC LIMIT ?",
            )?;
            let mut rows = statement.query([limit(most)])?;
            let mut stories = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(story) = self.body(row.get_ref(0)?) else { continue };
                let at_ns = row.get::<_, Option<String>>(1)?.and_then(|at| parse_time(&at));
                let acknowledgement = self.acknowledged(row.get_ref(4)?);
                let (query, node) = (row.get(2)?, row.get(3)?);
                stories.push(StoryEntry { story, at_ns, query, node, acknowledgement, silence: None });
            }
            Ok(stories)
        };
        let mut stories = read().map_err(|error| self.failed(error))?;
        for entry in &mut stories {
            entry.silence = self.silence_of(&entry.story.id)?;
        }
        Ok(stories)
    }

    /// The newest stories, the oldest first: what a controller continues when it starts again.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn stories_oldest_first(&self, most: u64) -> std::result::Result<Vec<Story>, ArchiveError> {
        let newest = self.stories(most)?;
        Ok(newest.into_iter().rev().map(|entry| entry.story).collect())
    }
}
