//! Storing: one transaction for all that belongs together.

use crate::schema::WHOLE_RUN;
use crate::{Archive, ArchiveChanges, ArchiveError, ProbeOffset};
use crate::{captures, retention, silence};
use model::{Answer, Event, Story, format_time};
use rusqlite::{Connection, OptionalExtension, Result, params};
use serde::Serialize;

/// Boots of one probe whose marks are kept, as many as `protocol::amqp` remembers: messages of more are never on their way together.
const MOST_BOOTS: u32 = 512;

impl Archive {
    /// Stores all changes, or, where that fails, nothing.
    ///
    /// # Errors
    /// If the file cannot be written, or a row of an answer does not fit its columns.
    pub fn commit(&mut self, changes: &ArchiveChanges) -> std::result::Result<(), ArchiveError> {
        let answers = bodies(&changes.answers, |answer| answer, |answer| &answer.query)?;
        let events = bodies(&changes.events, |event| event, |event| &event.event)?;
        let stories = bodies(&changes.stories, |story| story, |story| &story.id)?;
        let captures = bodies(&changes.captures, |ended| &ended.capture, |ended| &ended.capture.event)?;
        let mut held = self.held;
        let keep = self.keep;
        let silences = &self.silences;
        let mut write = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            for (answer, body) in &answers {
                held.answers += u64::from(put_answer(&transaction, answer, body)?);
            }
            let mut new = Vec::new();
            for (event, body) in &events {
                let is_new = put_event(&transaction, event, body)?;
                held.events += u64::from(is_new);
                new.extend(is_new.then_some(*event));
            }
            for (story, body) in &stories {
                held.stories += u64::from(put_story(&transaction, story, body)?);
            }
            // After the stories: those of events that a long story does not list are found by the events before.
            for (event, _) in &events {
                follow_parent(&transaction, event)?;
            }
            let counted = silence::count(&transaction, silences, new.into_iter())?;
            for (ended, body) in &captures {
                captures::put(&transaction, ended, body, &mut held)?;
            }
            for (name, text) in &changes.states {
                let statement = "INSERT INTO states (name, text) VALUES (?, ?)
                                 ON CONFLICT (name) DO UPDATE SET text = excluded.text";
                transaction.prepare_cached(statement)?.execute([name, text])?;
            }
            for name in &changes.dropped_states {
                transaction.prepare_cached("DELETE FROM states WHERE name = ?")?.execute([name])?;
            }
            for mark in &changes.marks {
                put_mark(&transaction, mark)?;
            }
            retention::trim(&transaction, keep, &mut held)?;
            transaction.commit()?;
            Ok((held, counted))
        };
        match write(&mut self.connection) {
            Ok((held, counted)) => {
                self.held = held;
                for own in counted {
                    self.silences.retain(|known| known.story != own.story);
                    self.silences.push(own);
                }
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }
}

fn bodies<T, B: Serialize>(
    items: &[T],
    body: fn(&T) -> &B,
    name: fn(&T) -> &str,
) -> std::result::Result<Vec<(&T, String)>, ArchiveError> {
    let body = |item| match serde_json::to_string(body(item)) {
        Ok(body) => Ok((item, body)),
        Err(error) => Err(ArchiveError::NoJson(format!("{}: {error}", name(item)))),
    };
    items.iter().map(body).collect()
}

/// Returns what a firing pinned, as text: part of what tells answers apart.
pub(crate) fn bound(answer: &Answer) -> String {
    let pinned = answer.bound.iter().map(|item| (&item.column.name, &item.value));
    // Values that can be pinned can be written: the body has them too.
    match answer.bound.is_empty() {
        true => String::new(),
        false => serde_json::to_string(&pinned.collect::<Vec<_>>()).unwrap_or_default(),
    }
}

/// Stores an answer; true if it is there for the first time. A row that is replaced keeps its place.
fn put_answer(connection: &Connection, answer: &Answer, body: &str) -> Result<bool> {
    let (start, end) = answer.window.map_or((WHOLE_RUN.to_owned(), WHOLE_RUN.to_owned()), |window| {
        (format_time(window.start_ns), format_time(window.end_ns))
    });
    let revision = answer.revision.cast_signed();
    let bound = bound(answer);
    // `IS`: the node may be NULL.
    let replaced = connection
        .prepare_cached(
            "UPDATE answers SET body = ?7
             WHERE query = ?1 AND node IS ?2 AND window_start = ?3 AND window_end = ?4 AND revision = ?5 AND bound = ?6",
        )?
        .execute(params![answer.query, answer.node, start, end, revision, bound, body])?;
    if replaced == 0 {
        connection
            .prepare_cached(
                "INSERT INTO answers (query, node, window_start, window_end, revision, bound, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![answer.query, answer.node, start, end, revision, bound, body])?;
    }
    Ok(replaced == 0)
}

fn put_event(connection: &Connection, event: &Event, body: &str) -> Result<bool> {
    let at = format_time(event.at_ns);
    let kind = event.kind.name();
    let replaced = connection
        .prepare_cached(
            "UPDATE events SET query = ?2, node = ?3, kind = ?4, at = ?5, body = ?6 WHERE event = ?1",
        )?
        .execute(params![event.event, event.query, event.node, kind, at, body])?;
    if replaced == 0 {
        connection
            .prepare_cached(
                "INSERT INTO events (event, query, node, kind, at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![event.event, event.query, event.node, kind, at, body])?;
    }
    Ok(replaced == 0)
}

/// Stores a story with what is known of its first event, which may be dropped before it.
fn put_story(connection: &Connection, story: &Story, body: &str) -> Result<bool> {
    let replaced = connection
        .prepare_cached("UPDATE stories SET body = ?2 WHERE story = ?1")?
        .execute([&*story.id, body])?;
    if replaced == 0 {
        connection
            .prepare_cached(
                "INSERT INTO stories (story, at, query, node, body)
                 SELECT ?1, first.at, first.query, first.node, ?2
                 FROM (SELECT 1) LEFT JOIN events AS first ON first.event = ?1",
            )?
            .execute([&*story.id, body])?;
    }
    let mut belongs =
        connection.prepare_cached("UPDATE events SET story = ?2 WHERE event = ?1 AND story IS NOT ?2")?;
    for event in &story.events {
        belongs.execute([event, &story.id])?;
    }
    Ok(replaced == 0)
}

/// Puts an event without a story into that of the event that started its query.
fn follow_parent(connection: &Connection, event: &Event) -> Result<()> {
    let Some(parent) = &event.parent else { return Ok(()) };
    connection
        .prepare_cached(
            "UPDATE events SET story = (SELECT of.story FROM events AS of WHERE of.event = ?2)
             WHERE event = ?1 AND story IS NULL",
        )?
        .execute([&event.event, parent])?;
    Ok(())
}

fn put_mark(connection: &Connection, mark: &ProbeOffset) -> Result<()> {
    let sequence = connection
        .prepare_cached("SELECT sequence FROM marks WHERE node = ? AND boot = ?")?
        .query_row([&mark.node, &mark.boot], |row| row.get(0))
        .optional()?;
    let Some(sequence) = sequence.map(i64::cast_unsigned) else {
        connection
            .prepare_cached("INSERT INTO marks (node, boot, sequence) VALUES (?, ?, ?)")?
            .execute(params![mark.node, mark.boot, mark.sequence.cast_signed()])?;
        connection
            .prepare_cached(
                "DELETE FROM marks WHERE node = ?1
                 AND id NOT IN (SELECT id FROM marks WHERE node = ?1 ORDER BY id DESC LIMIT ?2)",
            )?
            .execute(params![mark.node, MOST_BOOTS])?;
        return Ok(());
    };
    // Compared here: SQLite has no unsigned integers.
    if mark.sequence > sequence {
        connection
            .prepare_cached("UPDATE marks SET sequence = ?3 WHERE node = ?1 AND boot = ?2")?
            .execute(params![mark.node, mark.boot, mark.sequence.cast_signed()])?;
    }
    Ok(())
}
