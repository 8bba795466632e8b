//! Where a text comes from.

use crate::diagnostic::position;

/// A text of queries.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name of its file; `query` of a text on the command line.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

impl Source<'_> {
    /// Returns where a byte of the text stands, as `file:line:column`.
    pub fn place(&self, at: usize) -> String {
        let (line, column) = position(self.text, at);
        format!("{}:{line}:{column}", self.name)
    }
}
