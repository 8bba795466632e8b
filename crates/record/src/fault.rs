//! Errors of writers: the place, the cause, and the number of records that a reader finds there.

use std::fmt;
use std::io;

/// The inside of a writer's error.
#[derive(Debug)]
struct WriterFailure {
    /// The place, and what happened.
    text: String,
    /// Records that are whole there.
    whole: u64,
    /// The word for the records, in the plural.
    unit: &'static str,
}

impl fmt::Display for WriterFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} {} were written whole", self.text, self.whole, self.unit)
    }
}

impl std::error::Error for WriterFailure {}

/// The error of a writer to the place `name`, where `whole` records can be read.
pub(crate) fn fault(name: &str, error: &io::Error, whole: u64, unit: &'static str) -> io::Error {
    io::Error::new(error.kind(), WriterFailure { text: format!("{name}: {error}"), whole, unit })
}

fn inside(error: &io::Error) -> Option<&WriterFailure> {
    error.get_ref()?.downcast_ref()
}

/// Returns how many of the records that a writer took a reader finds after this error of the writer; `None` where the error does not say so.
pub fn records_written(error: &io::Error) -> Option<u64> {
    inside(error).map(|fault| fault.whole)
}

/// The error of a writer of several files, of which earlier ones have `more` records.
pub(crate) fn with_earlier(error: io::Error, more: u64) -> io::Error {
    match inside(&error) {
        Some(WriterFailure { text, whole, unit }) => {
            let fault = WriterFailure { text: text.clone(), whole: whole + more, unit };
            io::Error::new(error.kind(), fault)
        }
        None => {
            let fault = WriterFailure { text: error.to_string(), whole: more, unit: "records" };
            io::Error::new(error.kind(), fault)
        }
    }
}
