//! What is known of a derived query's window.

use model::Answer;

/// What the sources of a derived query make known of a window of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing: a source is missing.
    Missing,
    /// No source had packets, and no earlier window that is read.
    Empty,
    /// The answer.
    Answer(Box<Answer>),
}
