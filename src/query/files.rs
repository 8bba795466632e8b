//! Separates the words that are files from the query, and finds the files that patterns name.

use crate::commands::QueryOptions;
use history::FlowFiles;
use runtime::exit::Failure;
use runtime::patterns;
use std::path::Path;

/// The words, separated.
pub(super) struct QueryArguments {
    pub(super) patterns: Vec<String>,
    pub(super) text: Option<String>,
}

/// The last word is the query unless an option asks, or it is the name of a file.
pub(super) fn split(options: &QueryOptions) -> Result<QueryArguments, Failure> {
    let mut patterns = options.words.clone();
    let asks = !options.query.is_empty() || !options.file.is_empty() || options.by.is_some();
    let instead = options.store.as_ref().map(|_| "--store").or(options.controller().map(|_| "--controller"));
    let is_text = |word: &String| !asks && (instead.is_some() || !looks_like_file(word));
    let text = patterns.pop_if(|word| is_text(word));
    if let (Some(option), [file, ..]) = (instead, &patterns[..]) {
        return Err(Failure::usage(format!(
            "{file}: with {option} there are no files; the query is the last word, or -q TEXT"
        )));
    }
    match patterns.iter().find(|word| word.trim_start().to_ascii_lowercase().starts_with("select ")) {
        Some(text) => {
            Err(Failure::usage(format!("'{text}' is no file; the query is the last word, or -q TEXT")))
        }
        None => Ok(QueryArguments { patterns, text }),
    }
}

fn looks_like_file(word: &str) -> bool {
    let is_name = !word.contains(char::is_whitespace)
        && record::Format::ALL.iter().any(|format| word.to_ascii_lowercase().ends_with(format.suffix()));
    is_name || Path::new(word).exists()
}

/// Opens what patterns name.
pub(super) fn open(patterns: &[String]) -> Result<FlowFiles, Failure> {
    if patterns.is_empty() {
        return Err(Failure::usage(
            "no file is given: edison query FILE… [TEXT], or --store DIR; edison run measures captures",
        ));
    }
    let mut paths = Vec::new();
    for pattern in patterns {
        paths.extend(patterns::expanded(pattern)?);
    }
    // The same file twice would count twice.
    let mut seen = std::collections::HashSet::new();
    paths.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    if let [path] = &paths[..]
        && !path.exists()
    {
        return Err(Failure::usage(format!(
            "{}: there is no such file; name files of flow records, or a store's folder with --store DIR",
            path.display()
        )));
    }
    FlowFiles::open(paths).map_err(Failure::usage)
}

/// Returns true if a word names files.
pub(super) fn names_files(word: &str) -> bool {
    looks_like_file(word) || word.contains(['*', '?', '['])
}
