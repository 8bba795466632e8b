//! Errors, warnings and notes about a text, each with its place.

use crate::source::{SourceText, position};
use serde::Serialize;
use std::ops::Range;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The text has no meaning; nothing of it is installed.
    Error,
    /// The text has a meaning that its author may not expect.
    Warning,
    /// The author should know of it.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// An error, a warning or a note about a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The kind of the diagnostic, which stays the same when the message changes.
    pub code: &'static str,
    /// The place in the text, bytes.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Place"))]
    pub span: Range<usize>,
    /// The line of its start, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub line: usize,
    /// The character of its start within the line, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub column: usize,
    /// The mistake, in words.
    pub message: String,
    /// The remedy, in words; `None` where none is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Returns a warning about a part of a text that [`check`](crate::check()) alone cannot give, as it sees one text.
    pub fn warning(
        code: &'static str,
        source: &SourceText<'_>,
        span: &Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Self {
        let (line, column) = position(source.text, span.start);
        Self { severity: Severity::Warning, code, span: span.clone(), line, column, message, help }
    }
}

/// Errors that are reported of one text, at most: further ones rarely help.
pub(crate) const MOST_ERRORS: usize = 50;
/// Warnings and notes that are reported of one text.
const MOST_REMARKS: usize = 100;

/// Collects what is found in a text.
#[derive(Debug)]
pub(crate) struct Diagnostics<'a> {
    text: &'a str,
    found: Vec<Diagnostic>,
    errors: usize,
}

impl<'a> Diagnostics<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, found: Vec::new(), errors: 0 }
    }

    /// Returns a part of the text.
    pub(crate) fn source(&self, span: &Range<usize>) -> &'a str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// True where no further error is reported.
    pub(crate) fn is_full(&self) -> bool {
        self.errors > MOST_ERRORS
    }

    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    pub(crate) fn error(&mut self, code: &'static str, span: &Range<usize>, message: impl Into<String>) {
        self.report(Severity::Error, code, span, message.into(), None);
    }

    pub(crate) fn error_with_help(
        &mut self,
        code: &'static str,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(Severity::Error, code, span, message.into(), Some(help.into()));
    }

    pub(crate) fn warn(
        &mut self,
        code: &'static str,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(Severity::Warning, code, span, message.into(), Some(help.into()));
    }

    pub(crate) fn note(&mut self, code: &'static str, span: &Range<usize>, message: impl Into<String>) {
        self.report(Severity::Note, code, span, message.into(), None);
    }

    fn report(
        &mut self,
        severity: Severity,
        code: &'static str,
        span: &Range<usize>,
        message: String,
        help: Option<String>,
    ) {
        if severity == Severity::Error {
            self.errors += 1;
            if self.errors > MOST_ERRORS + 1 {
                return;
            }
        } else if self.found.len() - self.errors.min(MOST_ERRORS + 1) >= MOST_REMARKS {
            return;
        }
        let (code, message, help) = if self.errors == MOST_ERRORS + 1 && severity == Severity::Error {
            ("too_many_errors", format!("more than {MOST_ERRORS} errors: the others are not shown"), None)
        } else {
            (code, message, help)
        };
        let found = Diagnostic { severity, code, span: span.clone(), line: 0, column: 0, message, help };
        self.found.push(found);
    }

    /// Returns the diagnostics in the order of the text, with lines and columns.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|found| (found.code == "too_many_errors", found.span.start, found.severity));
        self.found.dedup_by(|a, b| a.span == b.span && a.message == b.message);
        let (mut at, mut line, mut line_start) = (0, 1, 0);
        for found in &mut self.found {
            if found.span.start < at {
                (at, line, line_start) = (0, 1, 0);
            }
            let end = found.span.start.min(self.text.len());
            for (offset, byte) in self.text.as_bytes()[at..end].iter().enumerate() {
                if *byte == b'\n' {
                    line += 1;
                    line_start = at + offset + 1;
                }
            }
            at = end;
            found.line = line;
            found.column = self.text.get(line_start..end).map_or(1, |before| before.chars().count() + 1);
        }
        self.found
    }
}
