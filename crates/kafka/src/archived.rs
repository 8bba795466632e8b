//! The archive of a controller as an outbox: what it has stored waits there until it is delivered, whatever happens to the process.

use crate::{MessageBatch, Outbox, encode_answer, encode_event};
use archive::{Archive, ArchiveChanges, ArchiveError, Numbered};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that are read at once.
const MOST: u64 = 200;

/// An archive that others use, too.
pub trait SharedArchive: Send {
    /// Calls a function with exclusive access to the archive.
    fn with<T>(&self, work: impl FnOnce(&mut Archive) -> T) -> T;
}

impl SharedArchive for Arc<Mutex<Archive>> {
    fn with<T>(&self, work: impl FnOnce(&mut Archive) -> T) -> T {
        work(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers or events of an archive, in the order in which they were stored.
///
/// The archive keeps the number of the last one that was delivered. Where there is none as yet, all that it has is delivered.
pub struct Archived<A> {
    archive: A,
    of: Numbered,
    /// The number of the last one that was acknowledged, once it was read.
    after: Option<u64>,
    /// The number of the last one in the batch that was given last.
    given: u64,
}

impl<A: SharedArchive> Archived<A> {
    /// Continues where the archive says.
    pub fn new(archive: A, of: Numbered) -> Self {
        Self { archive, of, after: None, given: 0 }
    }

    /// The name under which the archive has the number.
    fn name(&self) -> String {
        format!("kafka/{}", self.of.name())
    }

    /// The number of the last one that was acknowledged.
    fn after(&mut self) -> Result<u64, ArchiveError> {
        if let Some(after) = self.after {
            return Ok(after);
        }
        let (name, of) = (self.name(), self.of);
        let (stored, numbers) = self.archive.with(|archive| {
            let stored = archive.state(&name)?;
            Ok::<_, ArchiveError>((stored, archive.numbers(of)?))
        })?;
        // Nothing that was dropped before anybody wanted it is missing.
        let first = numbers.map_or(0, |[first, _]| first.saturating_sub(1));
        let known = stored.and_then(|text| text.parse().ok());
        let after = known.unwrap_or(first);
        if known.is_none() {
            // From now on what is dropped unsent is missing, also after another start.
            self.note(after)?;
        }
        self.after = Some(after);
        Ok(after)
    }

    /// Makes the archive keep the number of the last answer or event that was acknowledged.
    fn note(&self, number: u64) -> Result<(), ArchiveError> {
        let states = vec![(self.name(), number.to_string())];
        let changes = ArchiveChanges { states, ..ArchiveChanges::default() };
        self.archive.with(|archive| archive.commit(&changes))
    }

    /// Rows as messages. Returns how many of them are damaged.
    fn messages(&self, rows: &[(u64, Vec<u8>)], batch: &mut MessageBatch) {
        let (mut damaged, mut not_json) = (0, 0);
        for (_, body) in rows {
            let made = match self.of {
                Numbered::Answers => serde_json::from_slice(body).ok().map(|answer| encode_answer(&answer)),
                Numbered::Events => {
                    serde_json::from_slice(body).ok().map(|event| Ok(vec![encode_event(&event)?]))
                }
            };
            match made {
                Some(Ok(messages)) => batch.messages.extend(messages),
                Some(Err(_)) => not_json += 1,
                None => damaged += 1,
            }
        }
        let lost = [("damaged", damaged), ("not_json", not_json)];
        batch.lost.extend(lost.into_iter().filter(|(_, number)| *number != 0));
    }
}

impl<A: SharedArchive> Outbox for Archived<A> {
    fn what(&self) -> &'static str {
        self.of.name()
    }

    fn next(&mut self) -> Result<MessageBatch, String> {
        let mut after = self.after().map_err(|error| error.to_string())?;
        let of = self.of;
        let read = |archive: &mut Archive| {
            let rows = archive.after(of, after, MOST)?;
            let numbers = if rows.is_empty() { archive.numbers(of)? } else { None };
            Ok::<_, ArchiveError>((rows, numbers))
        };
        let (mut rows, numbers) = self.archive.with(read).map_err(|error| error.to_string())?;
        if numbers.is_some_and(|[_, last]| last < after) {
            // All were dropped, and numbers have begun anew.
            (after, self.after) = (0, Some(0));
            let again = |archive: &mut Archive| archive.after(of, 0, MOST);
            rows = self.archive.with(again).map_err(|error| error.to_string())?;
        }
        let Some([(first, _), ..]) = rows.get(..1) else { return Ok(MessageBatch::default()) };
        let dropped = first.saturating_sub(after + 1);
        let mut batch = MessageBatch::default();
        batch.lost.extend((dropped != 0).then_some(("dropped", dropped)));
        self.messages(&rows, &mut batch);
        self.given = rows.last().map_or(after, |(number, _)| *number);
        Ok(batch)
    }

    fn acknowledge(&mut self) -> Result<(), String> {
        self.note(self.given).map_err(|error| error.to_string())?;
        self.after = Some(self.given);
        Ok(())
    }

    fn waiting(&mut self) -> u64 {
        let of = self.of;
        let Ok(after) = self.after() else { return 0 };
        let numbers = self.archive.with(|archive| archive.numbers(of)).ok().flatten();
        numbers.map_or(0, |[first, last]| (last + 1).saturating_sub(first.max(after + 1)))
    }
}
