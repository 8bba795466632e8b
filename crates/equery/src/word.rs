//! A word that has a meaning in Equery.

use serde::Serialize;

/// A keyword or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// The word with what belongs to it, as it is written.
    pub usage: &'static str,
    /// The effect of the word, in one line.
    pub meaning: &'static str,
}

impl Word {
    pub(crate) const fn new(word: &'static str, usage: &'static str, meaning: &'static str) -> Self {
        Self { word, usage, meaning }
    }
}
