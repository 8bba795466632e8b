//! The archive of a controller: answers, events, stories, captures, its state, and which messages it has taken, in one SQLite file.
//!
//! All that follows from a message changes in one transaction ([`Archive::commit`]): after a crash the archive has all of it or
//! nothing. What was committed is on the disk. The archive keeps as much as [`ArchiveRetention`] says, and drops what was stored first.
//!
//! One process has the file open at a time. The crate knows neither HTTP nor who asks.
//!
//! ```
//! use archive::{AnswerFilter, Archive, ArchiveChanges, ArchiveRetention};
//! use model::{Answer, Column, ColumnKind, Span, Value};
//!
//! let mut archive = Archive::in_memory(ArchiveRetention { answers: 1_000, events: 100, ..ArchiveRetention::default() })?;
//! let window = Span { start_ns: 0, end_ns: 10_000_000_000 };
//! let columns = vec![Column::new("total_count", ColumnKind::Unsigned, "packets")];
//! let answer = Answer::new("q1", Some(window), columns, vec![vec![Value::Unsigned(7)]]);
//! archive.commit(&ArchiveChanges { answers: vec![answer.clone()], ..ArchiveChanges::default() })?;
//!
//! let filter = AnswerFilter { query: Some("q1".to_owned()), ..AnswerFilter::default() };
//! assert_eq!(archive.answers(&filter)?.items, [answer]);
//! # Ok::<(), archive::ArchiveError>(())
//! ```
#![forbid(unsafe_code)]

mod acknowledgement;
mod captures;
mod changes;
mod column;
mod error;
mod filter;
mod listing;
mod numbered;
mod open;
mod read;
mod retention;
mod schema;
mod silence;
mod stories;
mod write;

pub use acknowledgement::{Acknowledgement, events_of};
pub use changes::{ArchiveChanges, ArchiveRetention, EndedCapture, MOST_CONTENT, ProbeOffset};
pub use error::ArchiveError;
pub use filter::{AnswerFilter, CaptureFilter, EventFilter};
pub use listing::{CaptureFileState, Listing, StoredCapture, StoredEvent, StoryEntry};
pub use numbered::Numbered;
pub use silence::{FiringCause, Silence, SilencedStory};

use retention::ArchiveCounts;
use rusqlite::Connection;
use std::cell::Cell;
use std::path::PathBuf;

/// An archive of what a controller remembers. Its owner shares it between threads behind a mutex.
#[derive(Debug)]
pub struct Archive {
    connection: Connection,
    /// The file, for messages.
    path: PathBuf,
    keep: ArchiveRetention,
    held: ArchiveCounts,
    /// The silences of stories, those that have ended among them.
    silences: Vec<SilencedStory>,
    /// The number of rows that could not be read.
    damaged: Cell<u64>,
}

impl Archive {
    /// Returns how often a row was left out of a result since the archive was opened because it is damaged.
    pub fn damaged(&self) -> u64 {
        self.damaged.get()
    }

    fn failed(&self, error: rusqlite::Error) -> ArchiveError {
        ArchiveError::from_sqlite(&self.path, error)
    }
}
