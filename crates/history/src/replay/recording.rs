//! Files of rows, and the nodes that they are of.

use super::gathered::{Gathered, SurveyedFile};
use super::node::NodeRecording;
use super::survey::{FileSurvey, NodeName, NodeRows};
use crate::facts::are_of_records;
use crate::files::FlowFiles;
use crate::question::{AnswerSetting, Period};
use model::Span;
use record::read::{Contents, FlowFile, ReadError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use task::rows::{PacketFieldPolicy, PlanContext};

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
            files: FlowFiles::from_files(open, errors)?,
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
    pub fn mark_damaged(mut self, damage: ReadError) -> Self {
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
    pub fn default_ns(&self) -> Option<u64> {
        self.files.contents().filter_map(|(_, contents)| Some(contents.windows.as_ref()?.usual_ns)).max()
    }

    /// Files of flow records, each of which counts whole in the window in which its flow ended, and of rows that such records became.
    pub fn record_files(&self) -> impl Iterator<Item = &std::path::Path> {
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
        setting: &AnswerSetting,
        continues: &mut dyn FnMut() -> bool,
    ) -> Result<Surveyed, Vec<String>> {
        // Rows of windows have no statistics of packets.
        let site = PlanContext {
            window_ns: Some(window_ns),
            statistics: Vec::new(),
            by_packets: PacketFieldPolicy::Refused,
            ..self.files.site(setting)
        };
        let mut nodes: Vec<(String, Gathered)> = Vec::new();
        let mut surveyed = Surveyed {
            nodes: Vec::new(),
            errors: self.files.errors().to_vec(),
            remarks: Vec::new(),
            is_stopped: false,
        };
        for (file, name) in self.files.files.drain(..).zip(&self.names) {
            let (mut file, rows) = surveyed.read(file, name.clone(), window_ns, continues);
            for (of_file, rows) in rows {
                let own = file.name.as_deref().or(of_file.as_deref()).unwrap_or(UNKNOWN);
                let at = nodes.iter().position(|(known, _)| known == own).unwrap_or(nodes.len());
                if at == nodes.len() {
                    nodes.push((own.to_owned(), Gathered::default()));
                }
                nodes[at].1.add(&mut file, of_file, &rows, &site, self.period, window_ns);
            }
        }
        for (name, error) in &self.unread {
            let is_of = |node: &String| name.as_ref().is_none_or(|name| name == node);
            let lacking = nodes.iter_mut().filter(|(node, _)| is_of(node));
            lacking.for_each(|(_, node)| node.lacks.push(error.to_string()));
        }
        let mut refused = Vec::new();
        for (name, node) in nodes {
            let missing = self.missing.get(&name).map_or(&[][..], Vec::as_slice);
            match node.recording(&name, &site, window_ns, self.period, missing) {
                Ok(node) => surveyed.nodes.push(node),
                Err(reason) => refused.push(format!("{name}: {reason}")),
            }
        }
        if refused.is_empty() { Ok(surveyed) } else { Err(refused) }
    }
}

impl Surveyed {
    /// Reads the times of a file's rows: the file, and its rows by node.
    fn read(
        &mut self,
        mut file: FlowFile,
        name: Option<String>,
        window_ns: u64,
        continues: &mut dyn FnMut() -> bool,
    ) -> (SurveyedFile, BTreeMap<NodeName, NodeRows>) {
        let FileSurvey { mut nodes, error, damaged, is_stopped } =
            FileSurvey::from_file(&mut file, window_ns, continues);
        let (path, contents) = (file.path().to_owned(), file.contents().clone());
        let reason = error.as_ref().map(ToString::to_string).unwrap_or_default();
        self.is_stopped |= is_stopped;
        self.errors.extend(error);
        if contents.has_windows && contents.windows.is_none() {
            self.remarks.push(format!(
                "{}: it does not tell what its windows lack; each is taken as complete, and those without rows as empty",
                path.display()
            ));
        }
        let open = (nodes.len() <= 1).then_some(file);
        // A file whose windows have no rows is of its node too.
        if contents.windows.is_some() {
            nodes.entry(contents.node.as_deref().map(Arc::from)).or_default();
        }
        (SurveyedFile { name, path, contents, open, damaged, reason }, nodes)
    }
}
