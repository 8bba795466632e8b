//! Diagnostics for people.

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::SourceText;
use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind};

/// The longest line that is shown with what is wrong in it.
const LONGEST_LINE: usize = 400;
/// The largest text of which lines are shown.
const LARGEST_TEXT: usize = 1 << 16;

/// Renders a diagnostic as one line: `file:line:column: error: message; help`.
///
/// ```
/// use equery::{CheckOptions, SourceText, check, one_line};
///
/// let source = SourceText { name: "q.eq", text: "select src_adr" };
/// let checked = check(&source, &CheckOptions::default());
/// assert_eq!(
///     one_line(&source, &checked.diagnostics[0]),
///     "q.eq:1:8: error: 'src_adr' is neither a field nor defined; 'src_addr' may be meant; \
///      'let src_adr = VALUE;' or --set src_adr=VALUE defines it"
/// );
/// ```
pub fn one_line(source: &SourceText<'_>, diagnostic: &Diagnostic) -> String {
    let Diagnostic { severity, line, column, message, help, .. } = diagnostic;
    let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{}:{line}:{column}: {}: {message}{help}", source.name, severity.name())
}

/// Returns the line that refuses the name of a query at one place, `file:line:column`, because the query at another has it.
pub fn name_taken(place: &str, name: &str, other: &str) -> String {
    format!("{place}: the name {name} is taken by the query at {other}; give the query another one")
}

/// Renders each diagnostic as one line and an excerpt of the text, for a terminal. `color`: with colors.
pub fn render(source: &SourceText<'_>, diagnostics: &[Diagnostic], color: bool) -> String {
    let one =
        |diagnostic| format!("{}\n{}", one_line(source, diagnostic), excerpt(source, diagnostic, color));
    diagnostics.iter().map(one).collect()
}

/// The line of a diagnostic with what is wrong underlined, and what to do; empty where it has no place, and where no terminal
/// shows the line.
pub fn excerpt(source: &SourceText<'_>, diagnostic: &Diagnostic, color: bool) -> String {
    let Some((text, place)) = shown_of(source.text, diagnostic) else { return String::new() };
    let end = place.end.max(place.start + usize::from(place.start < text.len()));
    let (kind, tint) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
        Severity::Note => (ReportKind::Advice, Color::Blue),
    };
    let char_set = if color { CharSet::Unicode } else { CharSet::Ascii };
    let config = Config::default().with_color(color).with_index_type(IndexType::Byte).with_char_set(char_set);
    let place = (source.name, place.start..end);
    let mut label = Label::new(place.clone()).with_color(tint);
    if let Some(help) = &diagnostic.help {
        label = label.with_message(help);
    }
    let report =
        Report::build(kind, place).with_config(config).with_code(diagnostic.code).with_label(label).finish();
    let cache = (source.name, ariadne::Source::from(text));
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = report.write(cache, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The text up to the end of the line on which a diagnostic's place begins, and its place on that line; nothing where the line is too
/// long, and of a text that is so large that reading it for each diagnostic would take long.
fn shown_of<'t>(text: &'t str, diagnostic: &Diagnostic) -> Option<(&'t str, std::ops::Range<usize>)> {
    let start = diagnostic.span.start;
    let (before, rest) = (text.get(..start)?, text.get(start..)?);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = start + rest.find('\n').unwrap_or(rest.len());
    if line_end - line_start > LONGEST_LINE || line_start == line_end || line_end > LARGEST_TEXT {
        return None;
    }
    Some((&text[..line_end], start..diagnostic.span.end.min(line_end).max(start)))
}
