//! The rows and facts of a node, gathered from its files.

use super::node::{NodeFile, NodeRecording, NodeSelection};
use super::plan::ReplayPlan;
use super::survey::{NodeName, NodeRows, window_of};
use crate::facts::{describe_samples, told_sample, watched_of};
use crate::node_spans::union;
use crate::question::Period;
use crate::shares::mixed_in;
use model::Span;
use record::read::{Contents, FlowFile};
use record::{RecordedWindows, Shortfall};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::MOST_EMPTY_NS;
use task::rows::PlanContext;

/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;

/// The most windows of a damaged part that are marked one by one; of a longer one all windows of the node lack something.
const MOST_MARKED: usize = 100_000;

/// A file of which the times of all rows are known.
pub(super) struct SurveyedFile {
    /// The node of all its rows, where it was named.
    pub(super) name: Option<String>,
    pub(super) path: PathBuf,
    pub(super) contents: Contents,
    /// The file itself, where its rows are of one node.
    pub(super) open: Option<FlowFile>,
    /// The times of damaged parts: the begins of their first and of their last window.
    pub(super) damaged: Vec<[u64; 2]>,
    /// The words on the damage.
    pub(super) reason: String,
}

/// The rows and facts that files have of a node.
#[derive(Default)]
pub(super) struct Gathered {
    files: Vec<NodeFile>,
    lists: Vec<RecordedWindows>,
    counts: BTreeMap<u64, u64>,
    span: Option<Span>,
    merges: bool,
    damaged: Vec<(Span, String)>,
    /// The remarks on what all windows lack.
    pub(super) lacks: Vec<String>,
    shortfall: Shortfall,
    /// The names of the node's files with records of samples.
    sampled: Vec<String>,
}

impl Gathered {
    /// Adds what a file has of the node, which the file names `of_file`.
    pub(super) fn add(
        &mut self,
        file: &mut SurveyedFile,
        of_file: NodeName,
        rows: &NodeRows,
        site: &PlanContext,
        period: Period,
        window_ns: u64,
    ) {
        let (contents, path) = (&file.contents, &file.path);
        let wanted = rows.counts.iter().filter(|(start, _)| period.contains(**start));
        wanted.for_each(|(start, rows)| *self.counts.entry(*start).or_default() += rows);
        if !contents.has_windows {
            self.shortfall.add(&contents.shortfall);
            let watched = watched_of(contents);
            self.span = self.span.into_iter().chain(rows.span).chain(watched).reduce(union);
        }
        self.sampled.extend(told_sample(path, contents));
        let picked = if file.name.is_some() { NodeSelection::All } else { NodeSelection::Of(of_file) };
        // Of a file that was named, all rows are of the node, whatever they tell.
        if !self.files.iter().any(|known| known.path == *path && picked == NodeSelection::All) {
            let described = Contents { parts: Vec::new(), ..contents.clone() };
            let open = file.open.take();
            self.files.push(NodeFile { path: path.clone(), open, picked, contents: described });
            self.lists.extend(contents.windows.clone());
            self.merges |= !contents.has_windows || contents.key != site.key;
        }
        for &[first, last] in &file.damaged {
            let span = Span { start_ns: first, end_ns: last.saturating_add(window_ns) };
            self.damaged.push((span, file.reason.clone()));
            // None of them is known to be empty.
            let listed = std::iter::successors(Some(first), |start| match &contents.windows {
                Some(windows) => windows.since(start + 1).map(|(start, _)| start),
                None => start.checked_add(window_ns),
            });
            let mut listed = listed.take_while(|start| *start <= last);
            let marked = listed.by_ref().take(MOST_MARKED).chain([last]);
            marked.filter(|start| period.contains(*start)).for_each(|start| {
                self.counts.entry(start).or_default();
            });
            if listed.next().is_some() {
                self.lacks.push(file.reason.clone());
            }
        }
        if let Some(without) = contents.without_place.as_ref().filter(|_| contents.windows.is_none()) {
            self.lacks.push(format!(
                "{}: {} no place in the table, at times that are not known",
                path.display(),
                notation::counted_as(without.packets, "packet", ["had"; 2])
            ));
        }
    }

    /// Makes the recording of the node. `missing`: times of which nothing is known.
    ///
    /// # Errors
    /// In words: the node's files do not fit together.
    pub(super) fn recording(
        mut self,
        name: &str,
        site: &PlanContext,
        window_ns: u64,
        period: Period,
        missing: &[Span],
    ) -> Result<NodeRecording, String> {
        self.add_ends(window_ns, period);
        let Self { files, lists, counts, span, merges, damaged, lacks, mut shortfall, sampled } = self;
        shortfall.add(&Shortfall { estimates: describe_samples(&sampled), ..Shortfall::default() });
        if let Some(reason) = mixed_in(files.iter().map(|file| &file.contents), period) {
            return Err(reason);
        }
        Ok(NodeRecording {
            site: PlanContext {
                node: name.to_owned(),
                tracked: flow::TrackedParts::common(files.iter().map(|file| file.contents.tracked)),
                ..site.clone()
            },
            merges: merges || files.len() > 1,
            name: name.to_owned(),
            files,
            plan: ReplayPlan::new(window_ns, lists, counts, span, period, missing)?,
            damaged,
            lacks,
            shortfall,
        })
    }

    /// Adds the windows at both ends of what was watched: before the first row and behind the last, as far as a store takes empty windows. A
    /// record may tell a begin that is years ago.
    fn add_ends(&mut self, window_ns: u64, period: Period) {
        let ends = self.span.iter().flat_map(|span| [span.start_ns, span.end_ns.saturating_sub(1)]);
        let ends = ends.map(|time_ns| window_of(time_ns, window_ns));
        for start in ends.filter(|start| period.contains(*start)) {
            if self.counts.keys().any(|with_rows| with_rows.abs_diff(start) <= MOST_EMPTY_NS) {
                self.counts.entry(start).or_default();
            } else if !self.counts.is_empty() {
                let reason = Some(format!(
                    "its records are of times from {} on, and more than {} h without the end of one are not stored",
                    model::format_time(start),
                    MOST_EMPTY_NS / HOUR
                ));
                self.shortfall.add(&Shortfall { reason, ..Shortfall::default() });
            }
        }
    }
}
