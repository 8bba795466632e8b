//! `NAME=SOURCE`: sources that are nodes.

use crate::cli::RunOptions;
use crate::exit::Failure;
use crate::machine;
use crate::positional;
use std::path::{Path, PathBuf};

/// A node and the options by which it is measured.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) options: RunOptions,
}

/// The nodes of a run, in the order of the command line; one where no source names any.
pub(crate) fn split(options: &RunOptions) -> Result<Vec<Node>, Failure> {
    let named = |word: &&String| name_and_source(word).is_some();
    let read: Vec<&String> = options.read.iter().collect();
    let words: Vec<&String> = options.words.iter().take_while(named).collect();
    let of_read = read.iter().filter(|word| named(word)).count();
    if words.is_empty() && of_read == 0 {
        let mut sources = options.words.iter().filter_map(|word| name_and_source(word));
        if let (Some(file), true) = (options.words.first(), sources.any(|(_, file)| Path::new(file).exists()))
        {
            return Err(unnamed(file));
        }
        let name = options.node.clone().unwrap_or_else(machine::host_name);
        return Ok(vec![Node { name, options: options.clone() }]);
    }
    check(options, of_read != read.len())?;
    let filter = &options.words[words.len()..];
    if let Some(file) = filter.first().filter(|word| Path::new(word.as_str()).exists()) {
        return Err(unnamed(file));
    }
    let mut nodes: Vec<Node> = Vec::new();
    for (name, source) in read.iter().chain(&words).filter_map(|word| name_and_source(word)) {
        if source != "-" && !Path::new(source).exists() {
            return Err(Failure::usage(format!(
                "{name}={source}: no such file; the source of a node is a capture file or '-'"
            )));
        }
        if source == "-" && nodes.iter().any(|node| node.options.read.iter().any(|read| read == "-")) {
            return Err(Failure::usage(format!("{name}=-: standard input is read once: name a file")));
        }
        match nodes.iter_mut().find(|node| node.name == name) {
            Some(node) => node.options.read.push(source.to_owned()),
            None => {
                let options = RunOptions {
                    read: vec![source.to_owned()],
                    words: filter.to_vec(),
                    node: Some(name.to_owned()),
                    ..options.clone()
                };
                nodes.push(Node { name: name.to_owned(), options });
            }
        }
    }
    let several = nodes.len() > 1;
    for Node { name, options } in nodes.iter_mut().filter(|_| several) {
        for path in [&mut options.flows, &mut options.rows].into_iter().flatten() {
            *path = path_of(path, name)?;
        }
    }
    Ok(nodes)
}

fn unnamed(file: &str) -> Failure {
    Failure::usage(format!("{file} is of no node: where sources are named (NAME=SOURCE), all of them are"))
}

/// Refuses what does not go with named sources.
fn check(options: &RunOptions, some_unnamed: bool) -> Result<(), Failure> {
    if let Some(node) = &options.node {
        return Err(Failure::usage(format!("--node {node}: the sources name their nodes (NAME=SOURCE)")));
    }
    if some_unnamed {
        return Err(Failure::usage("--read: where sources are named (NAME=SOURCE), all of them are"));
    }
    if !options.interface.is_empty() || !options.port.is_empty() || options.synthetic.is_some() {
        return Err(Failure::usage(
            "NAME=SOURCE names captures: -i, --port and --synthetic are one node, which --node names",
        ));
    }
    Ok(())
}

/// `NAME=SOURCE`, unless there is a file of that name, or the name is none.
fn name_and_source(word: &str) -> Option<(&str, &str)> {
    // A filter may have '=' too: len=60.
    let is_source =
        |source: &str| source == "-" || Path::new(source).exists() || positional::looks_like_path(source);
    name_and_rest(word).filter(|(_, source)| is_source(source))
}

/// The same, whatever follows the name.
pub(crate) fn name_and_rest(word: &str) -> Option<(&str, &str)> {
    let (name, rest) = word.split_once('=')?;
    let is_letter = |letter: char| letter.is_alphanumeric() || ['-', '_', '.', ':'].contains(&letter);
    let is_name = name.starts_with(char::is_alphanumeric) && name.chars().all(is_letter);
    (is_name && !Path::new(word).exists()).then_some((name, rest))
}

/// The path of one node's file: `flows.parquet` becomes `flows.Node1.parquet`.
fn path_of(path: &Path, node: &str) -> Result<PathBuf, Failure> {
    if crate::standard_output::is_meant(path) {
        return Err(Failure::usage("records of several nodes need a file: give a path instead of '-'"));
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(suffix) => format!("{stem}.{node}.{}", suffix.to_string_lossy()),
        None => format!("{stem}.{node}"),
    };
    Ok(path.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_files_and_filters() {
        assert_eq!(name_and_source("Node1=a.pcap"), Some(("Node1", "a.pcap")));
        assert_eq!(
            name_and_source("probe-1.example.net=x=y.pcap"),
            Some(("probe-1.example.net", "x=y.pcap"))
        );
        assert_eq!(name_and_source("A=-"), Some(("A", "-")));
        for other in
            ["a.pcap", "tcp[13]=2", "=a.pcap", "x=", "ether[0] = 1", "a==b", "-i=a", "dir/a=b", "len=60"]
        {
            assert_eq!(name_and_source(other), None, "{other}");
        }
        let path = |path: &str| path_of(Path::new(path), "N").map(|path| path.display().to_string());
        assert_eq!(path("out/flows.parquet"), Ok("out/flows.N.parquet".to_owned()));
        assert_eq!(path("flows"), Ok("flows.N".to_owned()));
        assert!(path("-").is_err());
    }
}
