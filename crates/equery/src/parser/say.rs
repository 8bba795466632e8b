//! The clause `say`: a text with names in braces.

use super::{Failed, ParseResult, Parser};
use crate::ast::{SayPart, SayText, Spanned};
use crate::lexer::shortened;
use crate::literal::Literal;
use std::ops::Range;

/// The most characters of a text: a title is a line.
const LONGEST: usize = 200;

impl Parser<'_, '_, '_> {
    pub(super) fn say(&mut self) -> ParseResult<SayText> {
        let span = self.span();
        let Some(Literal::Text(text)) = self.literal() else {
            let what =
                "a text in quotes behind say, such as say \"Packets to {dst_addr} are lost at {node}\"";
            return Err(self.expected(what));
        };
        self.advance();
        let length = text.chars().count();
        if text.trim().is_empty() || length > LONGEST {
            let message = match length > LONGEST {
                true => format!("the text of say has {length} characters: at most {LONGEST}"),
                false => "the text of say is empty".to_owned(),
            };
            let help = "say what happened in one short sentence";
            self.diagnostics.error_with_help("say", &span, message, help);
            return Err(Failed);
        }
        if let Some(control) = text.chars().find(|letter| letter.is_control()) {
            let message = format!("the text of say has the control character {}", control.escape_unicode());
            self.diagnostics.error_with_help("say", &span, message, "write it in one line of plain text");
            return Err(Failed);
        }
        let places = Places::new(self.diagnostics.source(&span), text, &span);
        let mut parts = Vec::new();
        match split(text, &places, &mut parts) {
            Ok(()) => Ok(SayText { text: text.clone(), parts }),
            Err(SayError { span, message, help }) => {
                self.diagnostics.error_with_help("say", &span, message, help);
                Err(Failed)
            }
        }
    }
}

/// The places of a text's bytes in the source, where quotes within it are doubled.
struct Places {
    span: Range<usize>,
    /// The quotes within the text, bytes; `None` where the source has a name in its place.
    quotes: Option<Vec<usize>>,
}

impl Places {
    fn new(source: &str, text: &str, span: &Range<usize>) -> Self {
        let quote = source.chars().next().filter(|first| matches!(first, '"' | '\''));
        let quotes = quote.map(|quote| text.match_indices(quote).map(|(at, _)| at).collect());
        Self { span: span.clone(), quotes }
    }

    fn of(&self, part: Range<usize>) -> Range<usize> {
        let Some(quotes) = &self.quotes else { return self.span.clone() };
        let place = |at: usize| self.span.start + 1 + at + quotes.partition_point(|quote| *quote < at);
        place(part.start)..place(part.end)
    }
}

struct SayError {
    span: Range<usize>,
    message: String,
    help: &'static str,
}

/// Splits a text into its parts. `{{` and `}}` are braces.
fn split(text: &str, places: &Places, parts: &mut Vec<SayPart>) -> Result<(), SayError> {
    let mut plain = String::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['{', '}']) {
        plain.push_str(&text[at..at + next]);
        at += next;
        let (brace, rest) = text[at..].split_at(1);
        if rest.starts_with(brace) {
            plain.push_str(brace);
            at += 2;
            continue;
        }
        let own = places.of(at..at + 1);
        if brace == "}" {
            let message = "'}' without '{' before it".to_owned();
            return Err(SayError { span: own, message, help: "write '}}' for a brace" });
        }
        let end = rest.find(['{', '}']).filter(|end| rest[*end..].starts_with('}'));
        let Some(end) = end else {
            let message = format!("'{{' without '}}' behind it: '{}'", shortened(&text[at..]));
            let help = "end the name of the column with '}', or write '{{' for a brace";
            return Err(SayError { span: own, message, help });
        };
        let name = rest[..end].trim();
        if name.is_empty() {
            let message = "no name in '{}'".to_owned();
            let help = "write the name of a column, as in '{dst_addr}', or '{node}'";
            return Err(SayError { span: places.of(at..at + 2 + end), message, help });
        }
        if !plain.is_empty() {
            parts.push(SayPart::Text(std::mem::take(&mut plain)));
        }
        let begin = at + 1 + (rest[..end].len() - rest[..end].trim_start().len());
        parts.push(SayPart::Name(Spanned::new(name.to_owned(), places.of(begin..begin + name.len()))));
        at += 2 + end;
    }
    plain.push_str(&text[at..]);
    if !plain.is_empty() {
        parts.push(SayPart::Text(plain));
    }
    Ok(())
}
