//! Silences of stories: for a time nobody is told of a story, and of others that begin as it did.

use crate::column::text;
use crate::{Archive, ArchiveError};
use model::{Event, EventKind, Integer, Item, Time};
use rusqlite::{Connection, OptionalExtension, Result, params};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// Silences that are kept. Of more, those go first that have ended first.
const MOST: usize = 1_000;
/// Events of a story that its silence names.
const MOST_EVENTS: u32 = 1_000;
/// Firings between an event and the one that it follows from.
const MOST_STEPS: usize = 64;

/// A statement of a user that nobody is to be told of a story for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Silence {
    /// The time of the statement.
    #[serde(rename = "at", with = "Time")]
    pub at_ns: u64,
    /// The time at which it ends by itself.
    #[serde(rename = "until", with = "Time")]
    pub until_ns: u64,
    /// The name of the token of the user; `None` if the server has no tokens.
    pub by: Option<String>,
    /// The note of the user; may be empty.
    pub note: String,
    /// The number of firings of which nobody was told.
    #[serde(with = "Integer")]
    pub fired: u64,
}

impl Silence {
    /// Returns true if it holds at a time.
    pub fn holds(&self, now_ns: u64) -> bool {
        (self.at_ns..self.until_ns).contains(&now_ns)
    }
}

/// What a firing is of: the query, the node and the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiringCause {
    /// The query.
    pub query: String,
    /// The node; `None` of answers across nodes.
    pub node: Option<String>,
    /// The key.
    pub key: Vec<Item>,
}

impl FiringCause {
    /// Returns what an event is of.
    pub fn from_event(event: &Event) -> Self {
        Self { query: event.query.clone(), node: event.node.clone(), key: event.key.clone() }
    }
}

/// A story that is or was silent.
#[derive(Clone, Debug, PartialEq)]
pub struct SilencedStory {
    /// The identifier of the story.
    pub story: String,
    /// What the event was of that the story began with: firings of it are silent wherever they are while the silence holds, with what follows
    /// from them. `None` if the event is not kept.
    pub cause: Option<FiringCause>,
    /// The silence.
    pub silence: Silence,
}

/// A silence as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredSilence {
    cause: Option<FiringCause>,
    silence: Silence,
}

/// Reads all silences that can be read. The others are counted as damaged.
pub(crate) fn read_all(connection: &Connection) -> Result<(Vec<SilencedStory>, u64)> {
    let mut statement = connection.prepare("SELECT story, body FROM silences ORDER BY story")?;
    let mut rows = statement.query([])?;
    let (mut read, mut damaged) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        match serde_json::from_slice(text(row.get_ref(1)?)) {
            Ok(StoredSilence { cause, silence }) => {
                read.push(SilencedStory { story: row.get(0)?, cause, silence });
            }
            Err(_) => damaged += 1,
        }
    }
    Ok((read, damaged))
}

/// Stores a silence in the place of that of its story.
fn put(connection: &Connection, silenced: &SilencedStory) -> Result<()> {
    let SilencedStory { story, cause, silence } = silenced;
    let stored = StoredSilence { cause: cause.clone(), silence: silence.clone() };
    let body = serde_json::to_string(&stored)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let statement = "INSERT INTO silences (story, body) VALUES (?1, ?2)
                     ON CONFLICT (story) DO UPDATE SET body = excluded.body";
    connection.prepare_cached(statement)?.execute(params![story, body])?;
    Ok(())
}

/// Returns the story of an event, and what the firing was of that it follows from. An event without a story is by itself.
fn origin_of(connection: &Connection, event: &Event) -> Result<(String, Option<FiringCause>)> {
    let mut statement = connection.prepare_cached("SELECT story FROM events WHERE event = ?")?;
    let story: Option<String> = statement.query_row([&event.event], |row| row.get(0)).optional()?.flatten();
    Ok((story.unwrap_or_else(|| event.event.clone()), root_of(connection, event.clone())?))
}

/// Returns what the firing was of that an event follows from, over all that lies between; `None` if one of them is not kept.
fn root_of(connection: &Connection, mut event: Event) -> Result<Option<FiringCause>> {
    for _ in 0..MOST_STEPS {
        let Some(parent) = &event.parent else { return Ok(Some(FiringCause::from_event(&event))) };
        let Some(parent) = event_of(connection, parent)? else { return Ok(None) };
        event = parent;
    }
    Ok(None)
}

fn event_of(connection: &Connection, event: &str) -> Result<Option<Event>> {
    let mut statement = connection.prepare_cached("SELECT body FROM events WHERE event = ?")?;
    let read = |row: &rusqlite::Row<'_>| Ok(serde_json::from_slice(text(row.get_ref(0)?)).ok());
    Ok(statement.query_row([event], read).optional()?.flatten())
}

/// Counts new firings of which nobody is told, in the transaction that stores them. Returns the silences that have changed.
pub(crate) fn count<'a>(
    connection: &Connection,
    silences: &[SilencedStory],
    new: impl Iterator<Item = &'a Event>,
) -> Result<Vec<SilencedStory>> {
    let mut changed: Vec<SilencedStory> = Vec::new();
    let now_ns = now_ns();
    let mut held: Vec<SilencedStory> =
        silences.iter().filter(|own| own.silence.holds(now_ns)).cloned().collect();
    if held.is_empty() {
        return Ok(changed);
    }
    for event in new.filter(|event| event.kind == EventKind::Fired) {
        let (story, cause) = origin_of(connection, event)?;
        for own in held.iter_mut().filter(|own| own.covers(&story, cause.as_ref())) {
            own.silence.fired = own.silence.fired.saturating_add(1);
            changed.retain(|known| known.story != own.story);
            changed.push(own.clone());
        }
    }
    changed.iter().try_for_each(|own| put(connection, own))?;
    Ok(changed)
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl SilencedStory {
    /// Returns true if it is about this story, or about what follows from a firing of this.
    fn covers(&self, story: &str, cause: Option<&FiringCause>) -> bool {
        self.story == story || cause.is_some() && self.cause.as_ref() == cause
    }
}

impl Archive {
    /// Silences the story of this identifier, or ends its silence (`None`). What has ended stays as it was counted. Returns what is
    /// stored of the story then; `None` if it was never silenced.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn silence(
        &mut self,
        story: &str,
        silence: Option<Silence>,
        now_ns: u64,
    ) -> std::result::Result<Option<Silence>, ArchiveError> {
        let before = self.silences.iter().find(|own| own.story == story);
        let own = match (before, silence) {
            (None, None) => return Ok(None),
            (Some(before), None) if before.silence.until_ns <= now_ns => {
                return Ok(Some(before.silence.clone()));
            }
            (Some(before), None) => {
                let silence =
                    Silence { until_ns: now_ns.max(before.silence.at_ns), ..before.silence.clone() };
                SilencedStory { silence, ..before.clone() }
            }
            (before, Some(silence)) => {
                // One that goes on longer is the same.
                let goes_on = before.filter(|before| before.silence.holds(now_ns));
                let fired = goes_on.map_or(silence.fired, |before| before.silence.fired);
                let cause = match before {
                    Some(before) => before.cause.clone(),
                    None => event_of(&self.connection, story)
                        .map_err(|error| self.failed(error))?
                        .map(|event| FiringCause::from_event(&event)),
                };
                SilencedStory { story: story.to_owned(), cause, silence: Silence { fired, ..silence } }
            }
        };
        let mut kept: Vec<SilencedStory> =
            self.silences.iter().filter(|known| known.story != story).cloned().collect();
        kept.sort_by_key(|known| known.silence.until_ns);
        let gone = kept.len().saturating_sub(MOST - 1);
        let gone: Vec<SilencedStory> = kept.drain(..gone).collect();
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            for old in &gone {
                transaction.prepare_cached("DELETE FROM silences WHERE story = ?")?.execute([&old.story])?;
            }
            put(&transaction, &own)?;
            transaction.commit()
        };
        if let Err(error) = write(&mut self.connection) {
            return Err(self.failed(error));
        }
        let silence = own.silence.clone();
        kept.push(own);
        self.silences = kept;
        Ok(Some(silence))
    }

    /// All silences that are kept, those that have ended among them.
    pub fn silences(&self) -> &[SilencedStory] {
        &self.silences
    }

    /// The silence of a story: its own, or that of a story that began as it did. The identifier is that of the other story then. One that holds is
    /// before one that has ended, and its own before that of another story. Of other stories those that have ended count if this one
    /// began while they held.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn silenced_by(&self, story: &str) -> std::result::Result<Option<SilencedStory>, ArchiveError> {
        let own = self.silences.iter().find(|own| own.story == story);
        let now_ns = now_ns();
        if self.silences.is_empty() || own.is_some_and(|own| own.silence.holds(now_ns)) {
            return Ok(own.cloned());
        }
        let read = || -> Result<Option<SilencedStory>> {
            let first = event_of(&self.connection, story)?;
            let Some(cause) = first.map(|first| root_of(&self.connection, first)).transpose()?.flatten()
            else {
                return Ok(None);
            };
            let others = || self.silences.iter().filter(|other| other.covers(story, Some(&cause)));
            let latest = |at_ns: u64| {
                let held = others().filter(|other| other.silence.holds(at_ns));
                held.max_by_key(|other| other.silence.until_ns).cloned()
            };
            if let Some(holds) = latest(now_ns) {
                return Ok(Some(holds));
            }
            if own.is_some() || others().next().is_none() {
                return Ok(None);
            }
            let mut statement = self.connection.prepare_cached("SELECT at FROM stories WHERE story = ?")?;
            let at: Option<String> = statement.query_row([story], |row| row.get(0)).optional()?.flatten();
            Ok(at.and_then(|at| model::parse_time(&at)).and_then(latest))
        };
        let other = read().map_err(|error| self.failed(error))?;
        Ok(other.or_else(|| own.cloned()))
    }

    /// What the firing was of that this event follows from; `None` if it, or one between them, is not kept.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn root_cause(&self, event: &str) -> std::result::Result<Option<FiringCause>, ArchiveError> {
        let read = || -> Result<Option<FiringCause>> {
            let event = event_of(&self.connection, event)?;
            Ok(event.map(|event| root_of(&self.connection, event)).transpose()?.flatten())
        };
        read().map_err(|error| self.failed(error))
    }

    /// The silence of a story, its own or that of another one, as [`Archive::silenced_by`] has it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn silence_of(&self, story: &str) -> std::result::Result<Option<Silence>, ArchiveError> {
        Ok(self.silenced_by(story)?.map(|own| own.silence))
    }

    /// Returns until when nobody is told of an event, which is stored; `None` if all are.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn silent_until(&self, event: &Event, now_ns: u64) -> std::result::Result<Option<u64>, ArchiveError> {
        let mut held = self.silences.iter().filter(|own| own.silence.holds(now_ns)).peekable();
        if held.peek().is_none() {
            return Ok(None);
        }
        let (story, cause) = origin_of(&self.connection, event).map_err(|error| self.failed(error))?;
        let own = held.filter(|own| own.covers(&story, cause.as_ref()));
        Ok(own.map(|own| own.silence.until_ns).max())
    }

    /// The identifiers of the newest events of a story.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn event_names(&self, story: &str) -> std::result::Result<Vec<String>, ArchiveError> {
        let read = || -> Result<Vec<String>> {
            let mut statement = self
                .connection
                .prepare_cached("SELECT event FROM events WHERE story = ?1 ORDER BY id DESC LIMIT ?2")?;
            statement.query_map(params![story, MOST_EVENTS], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.failed(error))
    }
}
