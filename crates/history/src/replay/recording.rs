//! Files of rows, and the nodes that they are of.

use super::node::{NodeFile, NodeRecording, Picked};
use super::plan::Plan;
use super::survey::{FileSurvey, window_of};
use crate::facts::{are_of_records, of_samples, told_sample, watched_of};
use crate::files::FlowFiles;
use crate::node_spans::union;
use crate::question::{Period, Setting};
use crate::shares::mixed_in;
use model::Span;
use record::Shortfall;
use record::read::{Contents, FlowFile, ReadError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::MOST_EMPTY_NS;
use task::rows::{ByPackets, Site};

/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;

/// The name of the node of rows that do not tell it.
const UNKNOWN: &str = "unknown";

/// A file, and the node that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The node of all its rows; `None` where they tell it.
    pub name: Option<String>,
    /// The file.
    pub path: PathBuf,
}

/// Files of rows that are open.
pub struct Recording {
    files: FlowFiles,
    /// The node of each file, where it was named.
    names: Vec<Option<String>>,
    /// Files that cannot be read: the node, and why.
    unread: Vec<(Option<String>, ReadError)>,
    /// The time whose windows are replayed.
    period: Period,
    /// Times of nodes of which nothing is known.
    missing: BTreeMap<String, Vec<Span>>,
}

/// The result of a survey.
pub struct Surveyed {
    /// The nodes, in the order of their files; those of one file by their names.
    pub nodes: Vec<NodeRecording>,
    /// Files that are damaged or cannot be read: the first error of each.
    pub errors: Vec<ReadError>,
    /// The remarks that the user should know of files, a line each.
    pub remarks: Vec<String>,
    /// True if the survey was ended before all was read.
    pub is_stopped: bool,
}

impl Recording {
    /// Opens files. Those that cannot be read are named by [`Recording::survey`].
    ///
    /// # Errors
    /// Returns one line if no file can be read, or their keys have prefixes of different lengths.
    pub fn open(files: impl IntoIterator<Item = Named>) -> Result<Self, String> {
        let (mut open, mut names, mut unread) = (Vec::new(), Vec::new(), Vec::new());
        for Named { name, path } in files {
            match FlowFile::open(&path) {
                Ok(file) => {
                    open.push(file);
                    names.push(name);
                }
                Err(error) => unread.push((name, error)),
            }
        }
        let errors = unread.iter().map(|(_, error)| error.clone()).collect();
        Ok(Self {
            files: FlowFiles::of(open, errors)?,
            names,
            unread,
            period: Period::ALL,
            missing: BTreeMap::new(),
        })
    }

    /// Restricts the replay to windows that begin in a period.
    #[must_use]
    pub fn within(self, period: Period) -> Self {
        Self { period, ..self }
    }

    /// Sets times of nodes of which nothing is known, whatever files tell of the windows around them.
    #[must_use]
    pub fn without(self, missing: BTreeMap<String, Vec<Span>>) -> Self {
        Self { missing, ..self }
    }

    /// Marks the recording as one whose list of files is damaged: rows of any node may be missing.
    #[must_use]
    pub fn of_damaged(mut self, damage: ReadError) -> Self {
        self.files.errors.push(damage.clone());
        self.unread.push((None, damage));
        self
    }

    /// The files.
    pub fn files(&self) -> &FlowFiles {
        &self.files
    }

    /// The length of the windows of rows, where there are any that tell it.
    ///
    /// # Errors
    /// Returns one line if two files have windows of different lengths.
    pub fn window_ns(&self) -> Result<Option<u64>, String> {
        let mut known: Option<(u64, String)> = None;
        for (path, contents) in self.files.contents().filter(|(_, contents)| contents.has_windows) {
            let Some(own) = contents.window_ns.filter(|length| *length != 0) else { continue };
            match &known {
                Some((length, first)) if *length != own => {
                    let [length, own] = [*length, own].map(notation::how_long);
                    return Err(format!(
                        "{first} has windows of {length} and {} of {own}: record all with the same --every",
                        path.display()
                    ));
                }
                Some(_) => {}
                None => known = Some((own, path.display().to_string())),
            }
        }
        Ok(known.map(|(length, _)| length))
    }

    /// The length of the windows of queries that do not say it, in the run that wrote the rows, if a file tells it.
    pub fn usual_ns(&self) -> Option<u64> {
        self.files.contents().filter_map(|(_, contents)| Some(contents.windows.as_ref()?.usual_ns)).max()
    }

    /// Files of flow records, each of which counts whole in the window in which its flow ended, and of rows that such records became.
    pub fn of_records(&self) -> impl Iterator<Item = &std::path::Path> {
        let is_of_records = |contents: &Contents| {
            !contents.has_windows || contents.windows.as_ref().is_some_and(are_of_records)
        };
        self.files.contents().filter(move |(_, contents)| is_of_records(contents)).map(|(path, _)| path)
    }

    /// Reads the times of all rows. `continues` ends that by returning false.
    ///
    /// # Errors
    /// A line for each node whose recordings do not fit together.
    pub fn survey(
        mut self,
        window_ns: u64,
        setting: &Setting,
        continues: &mut dyn FnMut() -> bool,
    ) -> Result<Surveyed, Vec<String>> {
        // Rows of windows have no statistics of packets.
        let site = Site {
            window_ns: Some(window_ns),
            statistics: Vec::new(),
            by_packets: ByPackets::Refused,
            ..self.files.site(setting)
        };
        let mut nodes: Vec<(String, Gathered)> = Vec::new();
        let mut surveyed = Surveyed {
            nodes: Vec::new(),
            errors: self.files.errors().to_vec(),
            remarks: Vec::new(),
            is_stopped: false,
        };
        let period = self.period;
        for (mut file, name) in self.files.files.drain(..).zip(&self.names) {
            let mut found = FileSurvey::of(&mut file, window_ns, continues);
            let path = file.path().to_owned();
            surveyed.is_stopped |= found.is_stopped;
            surveyed.errors.extend(found.error.clone());
            let contents = &file.contents().clone();
            let is_of_one = found.nodes.len() <= 1;
            let mut open = Some(file);
            if contents.has_windows && contents.windows.is_none() {
                surveyed.remarks.push(format!(
                    "{}: it does not tell what its windows lack; each is taken as complete, and those without rows as empty",
                    path.display()
                ));
            }
            // A file whose windows have no rows is of its node too.
            if contents.windows.is_some() {
                found.nodes.entry(contents.node.as_deref().map(Arc::from)).or_default();
            }
            for (of_file, rows) in found.nodes {
                let own = name.as_deref().or(of_file.as_deref()).unwrap_or(UNKNOWN);
                let at = nodes.iter().position(|(known, _)| known == own).unwrap_or(nodes.len());
                if at == nodes.len() {
                    nodes.push((own.to_owned(), Gathered::default()));
                }
                let node = &mut nodes[at].1;
                let wanted = rows.counts.iter().filter(|(start, _)| period.contains(**start));
                wanted.for_each(|(start, rows)| *node.counts.entry(*start).or_default() += rows);
                if !contents.has_windows {
                    node.shortfall.add(&contents.shortfall);
                    let watched = watched_of(contents);
                    node.span = node.span.into_iter().chain(rows.span).chain(watched).reduce(union);
                }
                node.sampled.extend(told_sample(&path, contents));
                let picked = if name.is_some() { Picked::All } else { Picked::Of(of_file.clone()) };
                // Of a file that was named, all rows are of the node, whatever they tell.
                if !node.files.iter().any(|known| known.path == path && picked == Picked::All) {
                    let described = Contents { parts: Vec::new(), ..contents.clone() };
                    let open = open.take_if(|_| is_of_one);
                    node.files.push(NodeFile { path: path.clone(), open, picked, contents: described });
                    node.lists.extend(contents.windows.clone());
                    node.merges |= !contents.has_windows || contents.key != site.key;
                }
                let reason = found.error.as_ref().map(ToString::to_string).unwrap_or_default();
                for &[first, last] in &found.damaged {
                    node.damaged.push((
                        Span { start_ns: first, end_ns: last.saturating_add(window_ns) },
                        reason.clone(),
                    ));
                    // They are no empty ones.
                    [first, last].iter().filter(|start| period.contains(**start)).for_each(|start| {
                        node.counts.entry(*start).or_default();
                    });
                }
                if let Some(without) = contents.without_place.as_ref().filter(|_| contents.windows.is_none())
                {
                    node.lacks.push(format!(
                        "{}: {} no place in the table, at times that are not known",
                        path.display(),
                        notation::counted_as(without.packets, "packet", ["had"; 2])
                    ));
                }
            }
        }
        for (name, error) in &self.unread {
            let is_of = |node: &String| name.as_ref().is_none_or(|name| name == node);
            let lacking = nodes.iter_mut().filter(|(node, _)| is_of(node));
            lacking.for_each(|(_, node)| node.lacks.push(error.to_string()));
        }
        let mut refused = Vec::new();
        for (name, node) in nodes {
            let Gathered { files, lists, mut counts, span, merges, damaged, lacks, mut shortfall, sampled } =
                node;
            // What was watched before the first row and behind the last has windows, too, as far as a store takes empty ones: a record may tell a begin
            // that is years ago.
            let ends = span.iter().flat_map(|span| [span.start_ns, span.end_ns.saturating_sub(1)]);
            let ends = ends.map(|time_ns| window_of(time_ns, window_ns));
            for start in ends.filter(|start| period.contains(*start)) {
                if counts.keys().any(|with_rows| with_rows.abs_diff(start) <= MOST_EMPTY_NS) {
                    counts.entry(start).or_default();
                } else if !counts.is_empty() {
                    let reason = Some(format!(
                        "its records are of times from {} on, and more than {} h without the end of one are not stored",
                        model::format_time(start),
                        MOST_EMPTY_NS / HOUR
                    ));
                    shortfall.add(&Shortfall { reason, ..Shortfall::default() });
                }
            }
            shortfall.add(&Shortfall { estimates: of_samples(&sampled), ..Shortfall::default() });
            let contents = files.iter().map(|file| &file.contents);
            if let Some(reason) = mixed_in(contents, period) {
                refused.push(format!("{name}: {reason}"));
                continue;
            }
            let missing = self.missing.get(&name).map_or(&[][..], Vec::as_slice);
            match Plan::new(window_ns, lists, counts, span, period, missing) {
                Ok(plan) => surveyed.nodes.push(NodeRecording {
                    site: Site {
                        node: name.clone(),
                        tracks_loss: files.iter().all(|file| file.contents.tracks_loss),
                        ..site.clone()
                    },
                    merges: merges || files.len() > 1,
                    name,
                    files,
                    plan,
                    damaged,
                    lacks,
                    shortfall,
                }),
                Err(reason) => refused.push(format!("{name}: {reason}")),
            }
        }
        if refused.is_empty() { Ok(surveyed) } else { Err(refused) }
    }
}

/// The rows and facts that files have of a node.
#[derive(Default)]
struct Gathered {
    files: Vec<NodeFile>,
    lists: Vec<record::RecordedWindows>,
    counts: BTreeMap<u64, u64>,
    span: Option<Span>,
    merges: bool,
    damaged: Vec<(Span, String)>,
    lacks: Vec<String>,
    shortfall: Shortfall,
    /// The names of the node's files with records of samples.
    sampled: Vec<String>,
}
