//! Where a text comes from.

/// A text of queries.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name of its file; `query` of a text on the command line.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}
