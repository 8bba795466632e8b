//! `NAME=SOURCE`: sources that are nodes.

use crate::assembly::positional;
use crate::exit::Failure;
use crate::machine;
use crate::sinks::standard_output;
use crate::spec::{Listener, RunSpec, SourceOptions};
use std::path::{Path, PathBuf};

/// A node and the options by which it is measured.
pub(crate) struct NodeSpec {
    pub(crate) name: String,
    pub(crate) options: RunSpec,
}

/// The error of a source that does not exist.
const NO_SOURCE: &str = "no such file or interface; the source of a node is a capture file, '-', an interface, a DPDK port, or routers (ipfix://:4739)";

/// The kind of a node's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeKind {
    Capture,
    Interface,
    Port,
    Routers,
}

/// The nodes of a run, in the order of the command line; one where no source names any.
pub(crate) fn split(options: &RunSpec) -> Result<Vec<NodeSpec>, Failure> {
    let of_options = named_options(options);
    if let Some(word) = options.source.words.iter().find(|word| is_unknown(word)) {
        return Err(Failure::usage(format!("{word}: {NO_SOURCE}")));
    }
    let words: Vec<(&str, &str)> =
        options.source.words.iter().map_while(|word| name_and_source(word)).collect();
    if words.is_empty() && of_options.is_empty() {
        let mut sources = options.source.words.iter().filter_map(|word| name_and_source(word));
        if let (Some(file), true) =
            (options.source.words.first(), sources.any(|(_, file)| Path::new(file).exists()))
        {
            return Err(unnamed(file));
        }
        let name = options.output.node.clone().unwrap_or_else(machine::host_name);
        let mut own = options.clone();
        if let Some(word) = own.source.words.first().filter(|word| kind(word) == NodeKind::Routers).cloned() {
            own.routers.listener = Some(listener(&word)?);
            own.source.words.remove(0);
        }
        return Ok(vec![NodeSpec { name, options: own }]);
    }
    check(options, of_options.len())?;
    let filter = &options.source.words[words.len()..];
    if let Some(file) = filter.first().filter(|word| Path::new(word.as_str()).exists()) {
        return Err(unnamed(file));
    }
    let words = words.into_iter().map(|(name, source)| (kind(source), name, source));
    let (mut nodes, mut missing): (Vec<NodeSpec>, Vec<String>) = Default::default();
    for (kind, name, source) in of_options.into_iter().chain(words) {
        if source == "-" && nodes.iter().any(|node| node.options.source.read.iter().any(|read| read == "-")) {
            return Err(Failure::usage(format!("{name}=-: standard input is read once: name a file")));
        }
        let at = nodes.iter().position(|node| node.name == name).unwrap_or_else(|| {
            let mut options = options.clone();
            options.source = SourceOptions {
                words: filter.to_vec(),
                read: Vec::new(),
                interface: Vec::new(),
                port: Vec::new(),
                ..options.source
            };
            options.output.node = Some(name.to_owned());
            nodes.push(NodeSpec { name: name.to_owned(), options });
            nodes.len() - 1
        });
        let options = &mut nodes[at].options;
        match kind {
            NodeKind::Capture if source != "-" && !Path::new(source).exists() => {
                missing.push(format!("{name}={source}: {NO_SOURCE}"));
            }
            NodeKind::Capture => options.source.read.push(source.to_owned()),
            NodeKind::Interface => options.source.interface.push(source.to_owned()),
            NodeKind::Port => options.source.port.push(source.to_owned()),
            NodeKind::Routers if options.routers.listener.is_some() => {
                return Err(Failure::usage(format!(
                    "{name}={source}: a node listens at one address for routers: give this one another name"
                )));
            }
            NodeKind::Routers => {
                options.routers.listener =
                    Some(listener(source).map_err(|failure| failure.with_option(name))?)
            }
        }
    }
    if !missing.is_empty() {
        return Err(Failure::usages(missing));
    }
    let several = nodes.len() > 1;
    for NodeSpec { name, options } in nodes.iter_mut().filter(|_| several) {
        for path in [&mut options.output.flows, &mut options.output.rows].into_iter().flatten() {
            *path = path_of(path, name);
        }
    }
    Ok(nodes)
}

/// The sources that options name with their nodes: -r, -i and --port.
fn named_options(options: &RunSpec) -> Vec<(NodeKind, &str, &str)> {
    let lists = [
        (NodeKind::Capture, &options.source.read),
        (NodeKind::Interface, &options.source.interface),
        (NodeKind::Port, &options.source.port),
    ];
    let named = lists.into_iter().flat_map(|(kind, sources)| {
        sources.iter().filter_map(move |word| {
            let (name, source) = name_and_rest(word)?;
            // Arguments of a virtual device may have '=' too, behind a comma: net_pcap0,rx_pcap=a.pcap.
            let is_source = kind != NodeKind::Capture || name_and_source(word).is_some();
            is_source.then_some((kind, name, source))
        })
    });
    named.collect()
}

/// Returns the kind of a source, as its name says.
fn kind(source: &str) -> NodeKind {
    match source {
        _ if source.contains("://") => NodeKind::Routers,
        _ if source == "-" || Path::new(source).exists() || positional::looks_like_path(source) => {
            NodeKind::Capture
        }
        _ if is_interface(source) => NodeKind::Interface,
        _ if is_port(source) => NodeKind::Port,
        _ => NodeKind::Capture,
    }
}

/// Returns whether there is an interface of that name in the network namespace of this process, of which /sys may not be.
pub(super) fn is_interface(name: &str) -> bool {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    devices.lines().any(|line| line.trim_start().split_once(':').is_some_and(|(device, _)| device == name))
}

/// Returns true if a source reads like the arguments of a DPDK port: a PCI address, or a virtual device.
pub(super) fn is_port(source: &str) -> bool {
    let device = source.split(',').next().unwrap_or_default();
    let parts: Vec<&str> = device.split([':', '.']).collect();
    let is_pci = device.contains('.')
        && matches!(parts.len(), 3 | 4)
        && parts.iter().all(|part| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_hexdigit()))
        && device.contains(':');
    is_pci || device.starts_with("net_") || device.starts_with("eth_")
}

/// Returns where the routers of a node send to.
fn listener(source: &str) -> Result<Listener, Failure> {
    source.parse().map_err(Failure::usage)
}

fn unnamed(file: &str) -> Failure {
    Failure::usage(format!("{file} is of no node: where sources are named (NAME=SOURCE), all of them are"))
}

/// Refuses what does not go with named sources. `named`: the number of those that options name.
fn check(options: &RunSpec, named: usize) -> Result<(), Failure> {
    if let Some(node) = &options.output.node {
        return Err(Failure::usage(format!("--node {node}: the sources name their nodes (NAME=SOURCE)")));
    }
    let lists = [
        ("--read", &options.source.read),
        ("--interface", &options.source.interface),
        ("--port", &options.source.port),
    ];
    if lists.iter().map(|(_, sources)| sources.len()).sum::<usize>() != named {
        let is_unnamed = |source: &&String| name_and_rest(source).is_none();
        let unnamed =
            lists.iter().find_map(|(option, sources)| Some((option, sources.iter().find(is_unnamed)?)));
        let (option, source) = unnamed.map_or(("--read", ""), |(option, source)| (*option, source.as_str()));
        return Err(Failure::usage(format!(
            "{option} {source}: where sources are named (NAME=SOURCE), all of them are"
        )));
    }
    if options.source.synthetic.is_some() {
        return Err(Failure::usage(
            "--synthetic is one node, which --node names: NAME=SOURCE names captures, interfaces, ports and routers",
        ));
    }
    if options.routers.listener.is_some() {
        return Err(Failure::usage("the routers of edison collect are one node, which --node names"));
    }
    Ok(())
}

/// Splits `NAME=SOURCE`, unless there is a file of that name, or the name is none.
fn name_and_source(word: &str) -> Option<(&str, &str)> {
    // A filter may have '=' too: len=60.
    let is_source = |source: &str| match kind(source) {
        NodeKind::Capture => {
            source == "-" || Path::new(source).exists() || positional::looks_like_path(source)
        }
        NodeKind::Interface | NodeKind::Port | NodeKind::Routers => true,
    };
    name_and_rest(word).filter(|(_, source)| is_source(source))
}

/// Returns whether a word reads like NAME=SOURCE with a source that is not there. A filter has a number behind '=' (len=60).
fn is_unknown(word: &str) -> bool {
    let is_word = |rest: &str| {
        let is_letter = |letter: char| letter.is_alphanumeric() || ['-', '_', '.'].contains(&letter);
        rest.starts_with(|first: char| first.is_ascii_alphabetic()) && rest.chars().all(is_letter)
    };
    name_and_rest(word).is_some_and(|(_, rest)| is_word(rest)) && name_and_source(word).is_none()
}

/// Splits `NAME=REST`, whatever follows the name, unless there is a file of that name.
pub fn name_and_rest(word: &str) -> Option<(&str, &str)> {
    let (name, rest) = word.split_once('=')?;
    let is_letter = |letter: char| letter.is_alphanumeric() || ['-', '_', '.', ':'].contains(&letter);
    let is_name = name.starts_with(char::is_alphanumeric) && name.chars().all(is_letter);
    (is_name && !Path::new(word).exists()).then_some((name, rest))
}

/// The path of one node's file: `flows.parquet` becomes `flows.Node1.parquet`.
fn path_of(path: &Path, node: &str) -> PathBuf {
    // Refused later, with all else that is.
    if standard_output::is_meant(path) {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(suffix) => format!("{stem}.{node}.{}", suffix.to_string_lossy()),
        None => format!("{stem}.{node}"),
    };
    path.with_file_name(name)
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
        for (source, what) in [
            ("a.pcap", NodeKind::Capture),
            ("-", NodeKind::Capture),
            ("lo", NodeKind::Interface),
            ("0000:01:00.0", NodeKind::Port),
            ("01:00.1", NodeKind::Port),
            ("net_af_packet0,iface=eth0", NodeKind::Port),
            ("ipfix://:4739", NodeKind::Routers),
            ("10.0.0.1", NodeKind::Capture),
            ("60", NodeKind::Capture),
        ] {
            assert_eq!(kind(source), what, "{source}");
        }
        assert_eq!(name_and_source("rx=lo"), Some(("rx", "lo")));
        assert_eq!(name_and_source("R=netflow://:2055"), Some(("R", "netflow://:2055")));
        let path = |path: &str| path_of(Path::new(path), "N").display().to_string();
        assert_eq!(path("out/flows.parquet"), "out/flows.N.parquet");
        assert_eq!(path("flows"), "flows.N");
        assert_eq!(path("-"), "-");
        for (word, is_none) in
            [("A=nosuch0", true), ("len=60", false), ("A=lo", false), ("A=-", false), ("A=x.pcap", false)]
        {
            assert_eq!(is_unknown(word), is_none, "{word}");
        }
    }
}
