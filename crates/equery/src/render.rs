//! Diagnostics for people.

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Source;
use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind};

/// The longest line that is shown with what is wrong in it.
const LONGEST_LINE: usize = 400;

/// One line: `file:line:column: error: message; help`.
///
/// ```
/// use equery::{Options, Source, check, one_line};
///
/// let source = Source { name: "q.eq", text: "select src_adr" };
/// let checked = check(&source, &Options::default());
/// assert_eq!(
///     one_line(&source, &checked.diagnostics[0]),
///     "q.eq:1:8: error: 'src_adr' is neither a field nor defined; 'src_addr' may be meant; \
///      'let src_adr = VALUE;' or --set src_adr=VALUE defines it"
/// );
/// ```
pub fn one_line(source: &Source<'_>, diagnostic: &Diagnostic) -> String {
    let Diagnostic { severity, line, column, message, help, .. } = diagnostic;
    let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{}:{line}:{column}: {}: {message}{help}", source.name, severity.name())
}

/// Each diagnostic with its line, what is wrong in it underlined; for a terminal, in color where it has any.
pub fn render(source: &Source<'_>, diagnostics: &[Diagnostic], color: bool) -> String {
    let mut cache = (source.name, ariadne::Source::from(source.text));
    let mut text = Vec::new();
    for diagnostic in diagnostics {
        let span = within_line(source.text, diagnostic);
        // Without a place, or in a line that no terminal shows.
        let Some(span) = span else {
            text.extend_from_slice(one_line(source, diagnostic).as_bytes());
            text.push(b'\n');
            continue;
        };
        let (kind, tint) = match diagnostic.severity {
            Severity::Error => (ReportKind::Error, Color::Red),
            Severity::Warning => (ReportKind::Warning, Color::Yellow),
            Severity::Note => (ReportKind::Advice, Color::Blue),
        };
        let char_set = if color { CharSet::Unicode } else { CharSet::Ascii };
        let config =
            Config::default().with_color(color).with_index_type(IndexType::Byte).with_char_set(char_set);
        let label =
            Label::new((source.name, span.clone())).with_message(&diagnostic.message).with_color(tint);
        let mut report = Report::build(kind, (source.name, span))
            .with_config(config)
            .with_message(&diagnostic.message)
            .with_label(label);
        if let Some(help) = &diagnostic.help {
            report = report.with_help(help);
        }
        // Writing to memory does not fail.
        let _ = report.finish().write(&mut cache, &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The part of the place that is in its first line.
fn within_line(text: &str, diagnostic: &Diagnostic) -> Option<std::ops::Range<usize>> {
    let start = diagnostic.span.start;
    let before = text.get(..start)?;
    let rest = text.get(start..)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = start + rest.find('\n').unwrap_or(rest.len());
    if line_end - line_start > LONGEST_LINE || text.is_empty() {
        return None;
    }
    let end = diagnostic.span.end.min(line_end).max(start);
    Some(start..end)
}
