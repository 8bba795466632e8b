//! The source of a text.

/// A text of queries.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// The name of its file; `query` of a text on the command line.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

impl SourceText<'_> {
    /// Returns where a byte of the text stands, as `file:line:column`.
    pub fn place(&self, at: usize) -> String {
        let (line, column) = position(self.text, at);
        format!("{}:{line}:{column}", self.name)
    }
}

/// Returns the line and the character within it, both from 1, of a byte of a text.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
