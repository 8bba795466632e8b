//! The words of a dry run: which are files of queries, and which are files of rows.

use crate::assembly::nodes::name_and_rest;
use crate::exit::Failure;
use crate::patterns;
use crate::spec::{QuestionOptions, RecordedOptions};
use history::replay::Named;
use std::collections::HashSet;
use std::path::PathBuf;

/// The words, separated.
pub(super) struct RecordedArguments {
    /// Files of queries, those of `-f` first.
    pub(super) queries: Vec<PathBuf>,
    /// Files of rows.
    pub(super) files: Vec<Named>,
}

/// The first word is a file of queries, unless an option gives queries.
pub(super) fn split(
    question: &QuestionOptions,
    source: &RecordedOptions,
) -> Result<RecordedArguments, Failure> {
    let mut words = &source.words[..];
    let mut queries = question.file.clone();
    if question.query.is_empty() && question.file.is_empty() {
        let Some((first, rest)) = words.split_first() else {
            return Err(Failure::usage("no queries are given: edison dry-run QUERIES.eq FILE…, or -q TEXT"));
        };
        if record::Format::ALL.iter().any(|format| first.to_ascii_lowercase().ends_with(format.suffix())) {
            return Err(Failure::usage(format!(
                "{first} is no file of queries: edison dry-run QUERIES.eq FILE…, or -q TEXT"
            )));
        }
        queries.push(PathBuf::from(first));
        words = rest;
    }
    match (&source.store, words) {
        (None, _) => {}
        (Some(_), []) => return Ok(RecordedArguments { queries, files: Vec::new() }),
        (Some(_), [file, ..]) => {
            return Err(Failure::usage(format!("{file}: with --store there are no files of rows")));
        }
    }
    if words.is_empty() {
        return Err(Failure::usage(
            "no file of rows is given: edison run SOURCE --rows FILE writes one, and --store DIR names a store",
        ));
    }
    let mut files = Vec::new();
    // The same file twice would count twice.
    let mut seen = HashSet::new();
    for word in words {
        let (name, pattern) = match name_and_rest(word) {
            Some((name, pattern)) => (Some(name.to_owned()), pattern),
            None => (None, word.as_str()),
        };
        for path in patterns::expanded(pattern)? {
            let known = path.canonicalize().unwrap_or_else(|_| path.clone());
            if seen.insert((name.clone(), known)) {
                files.push(Named { name: name.clone(), path });
            }
        }
    }
    Ok(RecordedArguments { queries, files })
}
