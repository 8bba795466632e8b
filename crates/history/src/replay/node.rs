//! A recorded node, and what takes its rows.

use super::plan::ReplayPlan;
use super::survey::NodeName;
use crate::answering::lacking_columns;
use flow::{LossCounts, RowValue, Sampled, Untold, WindowRow};
use model::Span;
use packet::{KeyV4, KeyV6};
use record::Shortfall;
use record::read::{Contents, FlowFile, ReadError};
use std::path::{Path, PathBuf};
use task::Generation;
use task::query::{Over, Query};
use task::rows::{PlanContext, RowQueries, Unplaced};

/// The rows of a file that are of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeSelection {
    All,
    /// The rows that name the node.
    Of(NodeName),
}

/// A file with rows of a node.
pub(super) struct NodeFile {
    pub(super) path: PathBuf,
    /// The file, where it has rows of no other node.
    pub(super) open: Option<FlowFile>,
    pub(super) picked: NodeSelection,
    /// The contents of the file, but for its parts.
    pub(super) contents: Contents,
}

/// The rows of a node.
pub struct NodeRecording {
    pub(super) name: String,
    pub(super) site: PlanContext,
    pub(super) files: Vec<NodeFile>,
    pub(super) plan: ReplayPlan,
    /// True if rows of one key and window are to be one row.
    pub(super) merges: bool,
    /// Times of which rows are missing, and why.
    pub(super) damaged: Vec<(Span, String)>,
    /// The remarks on what all windows lack.
    pub(super) lacks: Vec<String>,
    /// The losses and estimates that files of flow records report. Their times are not known, so that each window reports them.
    pub(super) shortfall: Shortfall,
}

/// A window all rows of which were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinishedWindow {
    /// The begin of the window, nanoseconds since the epoch.
    pub start_ns: u64,
    /// The part of it that was watched; `None` where all of it was.
    pub watched: Option<Span>,
    /// True if the recording ended in the window.
    pub ended: bool,
    /// Windows without packets between the one before and this one.
    pub empty_before: u64,
    /// The begin of the next window, if there is one.
    pub next_ns: Option<u64>,
    /// Packets received, as far as it is known.
    pub received: u64,
    /// Packets lost before they could be measured; `None` where the source could not know.
    pub lost: Option<u64>,
    /// Rows that the run could not hand over.
    pub refused_rows: u64,
    /// Packets that are in no row.
    pub unplaced: Unplaced,
    /// Numbers of its packets and records that did not tell a value.
    pub untold: Untold,
    /// Rows that could not be read, or found no memory.
    pub missing_rows: u64,
    /// Packets, bytes, bytes on the wire and flows of its rows.
    pub sums: [u64; 4],
    /// The reasons why the window's rows are not all that there were, or not known to be.
    pub lacks: Vec<String>,
    /// True if some of its rows are of flow records, each of which counts whole in the window in which it ends.
    pub of_records: bool,
    /// The reasons that the recording gives for data that did not arrive or were not read.
    pub recorded_lacks: Option<String>,
    /// A remark of the recording that values are estimates, and how good they are.
    pub estimates: Option<String>,
    /// The sampling of its packets; `None` if all were taken.
    pub sampled: Option<Sampled>,
}

/// Takes the rows of a node.
pub trait WindowSink {
    /// Rows from here on are of the window that begins then. Returns false to end the replay.
    fn enter(&mut self, start_ns: u64) -> bool;
    /// Takes a row of IPv4, with its losses where these are tracked.
    fn row_v4(&mut self, row: WindowRow<KeyV4>, loss: Option<&LossCounts>);
    /// Takes a row of IPv6.
    fn row_v6(&mut self, row: WindowRow<KeyV6>, loss: Option<&LossCounts>);
    /// All rows of the window have been given. Returns false to end the replay.
    fn close(&mut self, window: FinishedWindow) -> bool;
}

/// The counts of what was given.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Rows that were read.
    pub rows: u64,
    /// Windows that were closed.
    pub windows: u64,
    /// Packets that are in no row.
    pub without_place: u64,
    /// Rows that could not be read, and rows that found no memory: no window has them.
    pub missing: [u64; 2],
    /// Files that are damaged: the first error of each.
    pub errors: Vec<ReadError>,
    /// True if the sink ended the replay.
    pub is_stopped: bool,
}

impl NodeRecording {
    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the paths of its files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Returns the number of its windows that have rows.
    pub fn windows_with_rows(&self) -> u64 {
        self.plan.counts.values().filter(|rows| **rows != 0).count() as u64
    }

    /// Returns true if all of its files tell bytes on the wire.
    pub fn has_wire_bytes(&self) -> bool {
        let mut told = self.files.iter().map(|file| &file.contents).filter(|contents| !contents.is_blank());
        told.all(|contents| contents.fields.contains("wire_byte"))
    }

    /// Returns whether some of its windows are of a sample of the packets.
    pub fn is_sampled(&self) -> bool {
        let windows = self.files.iter().filter_map(|file| file.contents.windows.as_ref());
        windows.flat_map(record::RecordedWindows::each).any(|(.., facts)| facts.is_sampled())
    }

    /// Returns the properties of the rows.
    pub fn site(&self) -> &PlanContext {
        &self.site
    }

    /// Refuses queries that the rows cannot answer, and files that lack columns which they read: a line for each.
    ///
    /// # Errors
    /// Returns all lines.
    pub fn check(&self, queries: &[Query]) -> Result<(), Vec<String>> {
        let over_all = |query: &Query| Query { over: Over::Run, ..query.clone() };
        let queries: Vec<_> = queries.iter().map(over_all).collect();
        let planned = RowQueries::plan(Generation::default(), &queries, &self.site);
        let planned = planned.map_err(|refused| {
            let in_words = |(query, refusal)| format!("{query} on {}: {refusal}", self.name);
            refused.into_iter().map(in_words).collect::<Vec<_>>()
        })?;
        let needs = planned.needs_of_recorded();
        let lacking = |file: &NodeFile| lacking_columns(&file.path, &file.contents, &needs, &[]);
        let mut lines: Vec<_> = self.files.iter().filter_map(lacking).collect();
        if needs.columns.contains(&RowValue::RttAvg) {
            lines.push(format!(
                "{}: rtt_avg is not known of recorded windows: their rows have means of round trips, and not \
                 the sums",
                self.name
            ));
        }
        if lines.is_empty() { Ok(()) } else { Err(lines) }
    }
}
