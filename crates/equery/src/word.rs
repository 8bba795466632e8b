//! A word that has a meaning in Equery.

use serde::Serialize;

/// A keyword or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Word {
    /// It.
    pub word: &'static str,
    /// How it is written with what belongs to it.
    pub usage: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
}

impl Word {
    pub(crate) const fn new(word: &'static str, usage: &'static str, meaning: &'static str) -> Self {
        Self { word, usage, meaning }
    }
}
