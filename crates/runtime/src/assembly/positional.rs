//! The words of `edison run SOURCE… [FILTER]`: which are files, and which are the filter.

use crate::exit::Failure;
use std::path::Path;

/// The words, separated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunArguments {
    pub(crate) files: Vec<String>,
    pub(crate) filter: Option<String>,
}

/// Words that are there as files, or look like files, come first; the first other word begins the filter. With
/// `-i`, `--port` or `--synthetic` all words are the filter. `read`: the files of `-r`, which come before all of them.
pub(crate) fn split(
    words: &[String],
    read: &[String],
    has_other_source: bool,
) -> Result<RunArguments, Failure> {
    let is_capture = |word: &&String| looks_like_path(word) && Path::new(word.as_str()).exists();
    if let Some(file) = words.iter().find(is_capture).filter(|_| has_other_source) {
        return Err(Failure::usage(format!(
            "{file} is a file: a run measures capture files, or -i, --port, --synthetic"
        )));
    }
    let is_file = |word: &str| word == "-" || Path::new(word).exists() || looks_like_path(word);
    let files = match words {
        _ if has_other_source => 0,
        [] => 0,
        _ if !read.is_empty() => words.iter().take_while(|word| is_file(word)).count(),
        // Without a file there is nothing to filter: the first word must be one.
        [_, rest @ ..] => 1 + rest.iter().take_while(|word| is_file(word)).count(),
    };
    let (files, filter) = words.split_at(files);
    let files = [read, files].concat();
    if let Some(missing) = files.iter().find(|word| *word != "-" && !Path::new(word.as_str()).exists()) {
        let option = if read.contains(missing) { "--read " } else { "" };
        return Err(Failure::usage(format!(
            "{option}{missing}: no such file; a source is a capture file, '-', -i, --port or --synthetic"
        )));
    }
    Ok(RunArguments { files, filter: (!filter.is_empty()).then(|| filter.join(" ")) })
}

/// Returns true if a word that names no file ends like the name of a capture.
pub(crate) fn looks_like_path(word: &str) -> bool {
    const SUFFIXES: [&str; 6] = [".pcap", ".pcapng", ".cap", ".gz", ".zst", ".trace"];
    !word.contains(' ') && SUFFIXES.iter().any(|suffix| word.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str], other: bool) -> Result<RunArguments, Failure> {
        split(&owned(list), &[], other)
    }

    fn owned(list: &[&str]) -> Vec<String> {
        list.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn tells_files_from_the_filter() {
        let file = "Cargo.toml";
        let got = words(&[file, file, "tcp port 80"], false).expect("files that exist");
        assert_eq!(
            got,
            RunArguments { files: vec![file.to_owned(); 2], filter: Some("tcp port 80".to_owned()) }
        );
        let got = words(&[file, "tcp", "port", "80"], false).expect("files that exist");
        assert_eq!((got.files.len(), got.filter.as_deref()), (1, Some("tcp port 80")));
        assert_eq!(words(&["udp"], true).map(|w| w.filter), Ok(Some("udp".to_owned())));
        assert_eq!(words(&["-"], false).map(|w| w.files), Ok(vec!["-".to_owned()]));
        assert!(words(&["missing"], false).is_err());
        let read = |list: &[&str]| split(&owned(list), &owned(&[file]), false).expect("files that exist");
        assert_eq!(
            read(&["tcp", "port", "80"]),
            RunArguments { files: owned(&[file]), filter: Some("tcp port 80".to_owned()) }
        );
        assert_eq!(
            read(&[file, "udp"]),
            RunArguments { files: owned(&[file, file]), filter: Some("udp".to_owned()) }
        );
        assert_eq!(read(&[]).files, owned(&[file]));
        assert!(words(&[file, "missing.pcap"], false).is_err());
    }
}
