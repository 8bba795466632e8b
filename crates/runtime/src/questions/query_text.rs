//! Texts of queries on the command line, and what is known of the site that they are for.

use crate::choices::{self, completed};
use crate::exit::{Failure, say};
use crate::machine;
use crate::variable::variable;
use crate::{names, quantity};
use clap::Args;
use engine::Every;
use equery::{CheckedText, SourceText};
use packet::KeySpec;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};

/// The most bytes that are read of a text: more than any text that is checked.
const MOST_READ: u64 = (1 << 20) + 1;

/// Options of the commands that read queries without traffic.
#[derive(Debug, Args)]
pub struct QueryTextOptions {
    /// Equery files; '-' is standard input
    #[arg(value_name = "FILE", required_unless_present = "query")]
    pub files: Vec<String>,
    /// Queries as text; may be given several times
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) query: Vec<String>,
    /// Give a name that queries use a value (K1=10K); wins over 'let' in the text
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) set: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Refuse queries that may need more memory than this [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = notation::bytes)]
    pub(crate) memory: Option<u64>,
    /// Length of the run's windows, a multiple of which 'every' must be: a time (10s) or packets (1Mp)
    #[arg(long, value_name = "TIME|PACKETSp", value_parser = quantity::every)]
    pub(crate) every: Option<Every>,
    /// What a flow is in the run: fields (src_addr/24/64,dst_port)
    #[arg(long, value_name = "FIELDS", value_parser = completed(names::key, choices::key_fields), hide_possible_values = true)]
    pub(crate) key: Option<KeySpec>,
}

/// A text and its name.
pub struct NamedText {
    /// The name of the text in errors.
    pub name: String,
    /// The text.
    pub text: String,
}

impl NamedText {
    /// Returns the text as the language takes it.
    pub fn source(&self) -> SourceText<'_> {
        SourceText { name: &self.name, text: &self.text }
    }
}

impl QueryTextOptions {
    /// Returns all texts: those of files, then those of the command line.
    pub fn texts(&self) -> Result<Vec<NamedText>, Failure> {
        let files = self.files.iter().map(|name| read(name));
        let given =
            self.query.iter().map(|text| Ok(NamedText { name: "query".to_owned(), text: text.clone() }));
        let (texts, failures): (Vec<_>, Vec<_>) = files.chain(given).partition(Result::is_ok);
        let failures: Vec<String> = failures.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() {
            return Ok(texts.into_iter().filter_map(Result::ok).collect());
        }
        Err(Failure::usages(failures))
    }

    /// Returns what is known of the site.
    pub fn site(&self) -> equery::CheckOptions {
        equery::CheckOptions {
            set: self.set.clone(),
            base_window_ns: self.window_ns(),
            window_packets: self.every.as_ref().and_then(window_packets),
            key: self.key.as_ref().map(KeySpec::parts),
            memory_bytes: Some(self.memory.unwrap_or_else(machine::half_of_memory)),
            ..equery::CheckOptions::default()
        }
    }

    /// The length of the run's windows, where it is a time.
    pub(crate) fn window_ns(&self) -> Option<u64> {
        match self.every {
            Some(Every::Time(ns)) => Some(ns),
            Some(Every::Packets(_)) | None => None,
        }
    }
}

/// Packets of the run's windows, where these are counted in packets.
pub(crate) fn window_packets(every: &Every) -> Option<u64> {
    match every {
        Every::Packets(packets) => Some(*packets),
        Every::Time(_) => None,
    }
}

/// Reads a file, or standard input, up to more than is checked.
pub fn read(name: &str) -> Result<NamedText, String> {
    let mut bytes = Vec::new();
    let result = match name {
        "-" => io::stdin().lock().take(MOST_READ).read_to_end(&mut bytes),
        name => File::open(name).and_then(|file| file.take(MOST_READ).read_to_end(&mut bytes)),
    };
    let name = if name == "-" { "standard input" } else { name };
    result.map_err(|error| format!("{name}: {error}"))?;
    let is_cut = bytes.len() as u64 == MOST_READ;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(NamedText { name: name.to_owned(), text }),
        // A character may be cut in two.
        Err(error) if is_cut => Ok(NamedText {
            name: name.to_owned(),
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(format!("{name}: byte {} is not UTF-8: queries are UTF-8 text", at + 1))
        }
    }
}

/// Shows what was found in a text on standard error. Its reader may be gone.
pub fn show(text: &NamedText, checked: &CheckedText) {
    let color =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let source = text.source();
    for diagnostic in &checked.diagnostics {
        say(&equery::one_line(&source, diagnostic));
        let _ = io::stderr().lock().write_all(equery::excerpt(&source, diagnostic, color).as_bytes());
    }
}

/// Returns the end of the command: an error if any text has errors.
pub fn outcome(texts: &[NamedText], checked: &[CheckedText]) -> Result<(), Failure> {
    let with_errors = texts.iter().zip(checked).filter(|(_, checked)| checked.has_errors());
    let failures: Vec<_> = with_errors.map(|(text, checked)| errors_of(text, checked)).collect();
    if failures.is_empty() { Ok(()) } else { Err(Failure::usages(failures)) }
}

fn errors_of(text: &NamedText, checked: &CheckedText) -> String {
    let count = |severity| checked.diagnostics.iter().filter(|found| found.severity == severity).count();
    match count(equery::Severity::Error) {
        1 => format!("{}: one error; nothing of this text is used", text.name),
        errors => format!("{}: {errors} errors; nothing of this text is used", text.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_as_the_option_has_them() {
        let key = KeySpec::parse("src_addr/24,dst_port").expect("a key");
        assert_eq!(key.parts(), ["src_addr/24/96", "dst_port"]);
    }
}
