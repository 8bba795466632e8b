//! `edison import`: recorded flows into a store, as if a node had measured them.

mod records;
mod rows;

use crate::commands::ImportOptions;
use arena::Limits;
use history::AnswerSetting;
use history::replay::{Named, NodeRecording, Recording, Replayed, Surveyed, shortfall_reasons};
use notation::grouped;
use packet::Seed;
use record::Selection;
use records::RecordImport;
use rows::RowImport;
use runtime::assembly::nodes::name_and_rest;
use runtime::assembly::sources;
use runtime::exit::{self, EARLY, Failure, say_error};
use runtime::machine;
use runtime::patterns;
use runtime::signals;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use store::{Level, NodeSetting, StoreCounts, StoreRetention, StoreWriter};

/// Windows of flow records, unless their length is given.
const DEFAULT_NS: u64 = 10_000_000_000;

/// Reads the files of the options into their store.
pub(crate) fn import(options: &ImportOptions) -> Result<ExitCode, Failure> {
    let files = files(options)?;
    let recording = Recording::open(files.iter().cloned()).map_err(Failure::usage)?;
    let window_ns = window_ns(options, &recording)?;
    let memory = options.memory.unwrap_or_else(machine::half_of_memory);
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let setting = AnswerSetting {
        limits: Limits::new(memory, usize::MAX),
        seed: Seed::new(machine::random()),
        geo: None,
    };
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    let of_records: Vec<PathBuf> = recording
        .files()
        .contents()
        .filter(|(_, contents)| !contents.has_windows)
        .map(|(path, _)| path.to_owned())
        .collect();
    say_samples(&recording);
    let lacking = lacking(&recording);
    let surveyed = recording.survey(window_ns, &setting, &mut || !stop.load(Relaxed));
    let Surveyed { nodes, errors, is_stopped, .. } = surveyed.map_err(Failure::usages)?;
    if is_stopped {
        say_error("stopped before anything was stored");
        return Ok(ExitCode::from(EARLY));
    }
    if nodes.is_empty() && !errors.is_empty() {
        return Err(Failure::usages(
            errors.iter().map(ToString::to_string).chain(["the files have no flows".to_owned()]),
        ));
    }
    let keep = options.store_keep.unwrap_or_else(all_ages);
    let store = StoreWriter::open(&options.store, keep, StoreWriter::QUEUE_BYTES.min(memory / 8))
        .map_err(Failure::usage)?;
    store.remarks().iter().for_each(|line| exit::say(line));
    let store = Arc::new(store);
    let mut lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.extend(lacking.iter().filter(|_| nodes.is_empty()).cloned());
    let mut records = RecordImport::default();
    // All nodes begin before the first is read: what a killed import has not reached is missing.
    let source = sources::names_of_files(files.iter().map(|file| &file.path));
    let mut feeds = Vec::new();
    for node in nodes {
        let (feed, writer) = store.node(node_setting(&node, source.clone(), window_ns));
        records.node(node.name(), node.site().key, writer);
        feeds.push((node, feed));
    }
    let mut tally = ImportTally::default();
    for (node, feed) in feeds {
        let (replayed, given) = RowImport::new(&store, feed, window_ns, &stop).take(node);
        lines.extend(replayed.errors.iter().map(ToString::to_string));
        tally.add(&replayed, given);
    }
    for path in &of_records {
        let named = files.iter().find(|file| file.path == *path).and_then(|file| file.name.as_deref());
        lines.extend(records.take(path, named, &stop));
    }
    let taken = records.finish();
    let counts = store.close(false);
    store.remarks().iter().for_each(|line| exit::say(line));
    lines.extend(losses(tally.missing, &counts));
    if stop.load(Relaxed) {
        lines.push("stopped before the end".to_owned());
    }
    // A file is surveyed and read: what is wrong with it is said once.
    let mut said = HashSet::new();
    lines.retain(|line| said.insert(line.clone()));
    lines.iter().for_each(|line| say_error(line));
    exit::print(&format!(
        "{} flow records and {} window rows of {} windows went into {}; {} rows were read\n",
        grouped(taken),
        grouped(tally.rows),
        grouped(tally.windows),
        options.store.display(),
        grouped(tally.read)
    ))?;
    Ok(if lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EARLY) })
}

/// The counts of the window rows of all nodes.
#[derive(Default)]
struct ImportTally {
    /// The number of rows that were read.
    read: u64,
    /// The number of rows that went into the store.
    rows: u64,
    windows: u64,
    /// The numbers of rows that could not be read, and of rows for which there was no memory.
    missing: [u64; 2],
}

impl ImportTally {
    /// Adds a node of which `given` rows went into the store.
    fn add(&mut self, replayed: &Replayed, given: u64) {
        self.read += replayed.rows;
        self.rows += given;
        self.windows += replayed.windows;
        self.missing.iter_mut().zip(replayed.missing).for_each(|(sum, more)| *sum += more);
    }
}

/// Names the files whose records are of samples.
fn say_samples(recording: &Recording) {
    for (path, _) in recording.files().contents().filter(|(_, contents)| contents.sampled) {
        exit::say(&format!(
            "{}: its records are of samples: they go into the store as they were counted",
            path.display()
        ));
    }
}

/// Returns what files without flows lack, a line each: no window can say it.
fn lacking(recording: &Recording) -> Vec<String> {
    let files = recording.files().contents();
    files
        .flat_map(|(path, contents)| {
            let lacks = shortfall_reasons(&contents.shortfall);
            lacks
                .map(move |reason| format!("{}: it has no flows: {reason}", path.display()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns how the store keeps a node of a recording. `source`: the names of the files.
fn node_setting(node: &NodeRecording, source: Option<String>, window_ns: u64) -> NodeSetting {
    let site = node.site();
    NodeSetting {
        node: node.name().to_owned(),
        source,
        key: site.key,
        window_ns,
        default_ns: window_ns,
        tracked: site.tracked,
        has_wire_bytes: node.has_wire_bytes(),
        selection: selection(node.has_wire_bytes(), site.tracked.headers),
        anonymizer: None,
        is_live: false,
        waits: true,
    }
}

/// Returns what is not in the store, a line each.
fn losses([unread, without_memory]: [u64; 2], counts: &StoreCounts) -> Vec<String> {
    let mut lines = Vec::new();
    if unread != 0 {
        lines.push(format!("{} rows could not be read: their windows are partial", grouped(unread)));
    }
    if without_memory != 0 {
        lines.push(format!(
            "{} rows are not in their windows, as memory ran out: give it more with --memory",
            grouped(without_memory)
        ));
    }
    let stored = [("window rows", counts.rows), ("flow records", counts.flows)];
    for (what, of) in stored.iter().filter(|(_, of)| of.lost() != 0) {
        lines.push(format!("{} {what} could not be stored", grouped(of.lost())));
    }
    if counts.aged + counts.squeezed != 0 {
        lines.push(format!(
            "{} files are older than --store-keep says, and {} are more than its size: they are dropped",
            counts.aged, counts.squeezed
        ));
    }
    lines
}

/// The files of the options, each with its node where that is given.
fn files(options: &ImportOptions) -> Result<Vec<Named>, Failure> {
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    for word in &options.files {
        let (name, pattern) = match name_and_rest(word) {
            Some((name, pattern)) => (Some(name.to_owned()), pattern),
            None => (options.node.clone(), word.as_str()),
        };
        for path in patterns::expanded(pattern)? {
            // The same file twice would count twice.
            if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                files.push(Named { name: name.clone(), path });
            }
        }
    }
    Ok(files)
}

/// The columns of the records: without bytes on the wire where files do not tell them, and with header fields where they do.
fn selection(has_wire_bytes: bool, headers: bool) -> Selection {
    let tracked = flow::TrackedParts { loss: false, headers };
    let parts = record::RecordContents { of_routers: true, tracked, ..record::RecordContents::default() };
    let all = Selection::new(&parts).with_open_fields();
    let names: Vec<&str> =
        all.columns().iter().map(record::FileColumn::name).filter(|name| *name != "wire_byte").collect();
    let without = Selection::parse(&names.join(","), &parts).map(Selection::with_open_fields);
    without.ok().filter(|_| !has_wire_bytes).unwrap_or(all)
}

/// The length of windows: that of the rows, where the files have window rows.
fn window_ns(options: &ImportOptions, recording: &Recording) -> Result<u64, Failure> {
    let given = options.every.map(|every| u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
    let of_rows = recording.window_ns().map_err(Failure::usage)?;
    match (given, of_rows) {
        (Some(0), _) => Err(Failure::usage("--every 0s: a window takes some time, as 10s")),
        (Some(given), Some(own)) if given != own => Err(Failure::usage(format!(
            "--every: the files have window rows of {}, which stay as they are",
            notation::how_long(own)
        ))),
        (given, own) => Ok(given.or(own).unwrap_or(DEFAULT_NS)),
    }
}

/// Returns limits that drop nothing because of its age: what is imported may be old.
fn all_ages() -> StoreRetention {
    Level::ALL.into_iter().fold(StoreRetention::default(), |keep, level| keep.with_age(level, Some(u64::MAX)))
}
