//! Results of a derived query's window.

use model::Answer;

/// The result of a window of a derived query, as its sources make it known.
#[derive(Clone, Debug, PartialEq)]
pub enum DerivedResult {
    /// The result is not known: a source is missing.
    Missing,
    /// The sources had no packets, nor had any earlier window that is read.
    Empty,
    /// The answer.
    Answer(Box<Answer>),
}
