//! Recorded rows in the place of a measurement: `edison dry-run` replays them to the probes and the controller of a run.

mod files;
mod lacking;
mod node;
mod period;
mod since;
mod tally;
mod windows;

pub(super) use node::RecordedNode;
pub(super) use since::Since;

use super::nodes::NodeSpec;
use crate::exit::{Failure, say};
use crate::machine;
use crate::questions::asked::{self, QuerySet, Texts};
use crate::signals;
use crate::spec::{RecordedOptions, RunSpec};
use crate::verdict::ExitStatus;
use arena::Limits;
use engine::Every;
use equery::Chain;
use history::AnswerSetting;
use history::replay::NodeRecording;
use packet::Seed;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tally::RecordedTally;
use windows::WindowLengths;

/// Recorded nodes, and what is shown of them.
pub(super) struct RecordedRun {
    /// The nodes, until they are replayed.
    nodes: Vec<NodeRecording>,
    /// The files of flow records, whose events are approximate.
    of_records: Vec<PathBuf>,
    /// The remarks on the files for the user, a line each.
    remarks: Vec<String>,
    /// True if answers are shown beside events.
    shows_answers: bool,
    /// The time up to which nothing is shown.
    shown_from_ns: Option<u64>,
    tally: Arc<RecordedTally>,
}

/// The way in which results of recorded rows are shown.
pub(super) struct Showing {
    pub(super) has_answers: bool,
    pub(super) is_approximate: bool,
    pub(super) since: Since,
}

/// Recorded rows that are open, and what is asked of them.
pub(super) struct OpenRecording {
    /// The options, with the windows and the key of the rows.
    pub(super) options: RunSpec,
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) asked: QuerySet,
    pub(super) recorded: RecordedRun,
}

impl OpenRecording {
    /// Checks what the options ask of recorded rows, and reads the times of all rows.
    ///
    /// # Errors
    /// If something is refused, no file can be read, or a signal ended it.
    pub(super) fn open(
        options: &RunSpec,
        source: &RecordedOptions,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let words = files::split(&options.question, source)?;
        let texts = asked::texts(&Texts {
            query: &options.question.query,
            file: &words.queries,
            by: None,
            sort: None,
            has_interval: false,
            top: 0,
        })?;
        let set = &options.question.set;
        let (recording, shown_from_ns) = period::open(source, words.files, &texts, set)?;
        let windows = WindowLengths::from_recording(source, set, &texts, &recording)?;
        let mut options = options.clone();
        options.question.key = *recording.files().key();
        windows.refuse_errors(&options, &texts)?;
        let bytes = options.limit.memory.unwrap_or_else(machine::half_of_memory);
        let setting = AnswerSetting {
            limits: Limits::new(usize::try_from(bytes).unwrap_or(usize::MAX), usize::MAX),
            seed: Seed::new(machine::random()),
            geo: options.question.enrich.databases()?,
        };
        // Reading all times may take long.
        signals::stop_on(&signals::ENDS, stop, stop)?;
        let of_records = recording.record_files().map(PathBuf::from).collect();
        let surveyed = recording.survey(windows.base_ns, &setting, &mut || !stop.load(Relaxed));
        let surveyed = surveyed.map_err(Failure::usages)?;
        if surveyed.is_stopped {
            return Err(Failure::early(tally::STOPPED));
        }
        let names: Vec<String> = surveyed.nodes.iter().map(|node| node.name().to_owned()).collect();
        if names.is_empty() {
            return Err(Failure::usage("the files have no rows: there is no window to judge"));
        }
        let mut asked = windows.asked(&options, &texts, &names)?;
        asked.default_every = Some(Every::Time(windows.default_ns));
        options.question.every = Every::Time(windows.base_ns);
        options.default_every = asked.default_every;
        // Windows are all that there is.
        options.json_windows = true;
        let node = |name| NodeSpec { name, options: options.clone() };
        let nodes = names.into_iter().map(node).collect();
        let tally = Arc::new(RecordedTally::from_survey(&surveyed));
        let recorded = RecordedRun {
            nodes: surveyed.nodes,
            of_records,
            remarks: surveyed.remarks,
            shows_answers: source.answers,
            shown_from_ns,
            tally,
        };
        Ok(Self { options, nodes, asked, recorded })
    }
}

impl RecordedRun {
    /// Returns the node of this name, until it is replayed.
    pub(super) fn node(&self, name: &str) -> Option<&NodeRecording> {
        self.nodes.iter().find(|node| node.name() == name)
    }

    /// Returns the nodes, ready to be replayed for these queries, and says what the user should know of them.
    ///
    /// # Errors
    /// If files lack what the tasks of their nodes read.
    pub(super) fn take_nodes(&mut self, chain: &Chain) -> Result<Vec<RecordedNode>, Failure> {
        let mut refused = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let tasks = chain.tasks.iter().zip(&chain.nodes).filter(|(_, nodes)| nodes.contains(&number));
            let tasks: Vec<_> = tasks.map(|(task, _)| task.clone()).collect();
            refused.extend(node.check(&tasks).err().into_iter().flatten());
        }
        if !refused.is_empty() {
            return Err(Failure::usages(refused));
        }
        if !chain.has_events() {
            say("none of the queries starts another one (when): nothing can fire");
        }
        if let [first, more @ ..] = &self.of_records[..] {
            let others = if more.is_empty() { String::new() } else { format!(" and {} others", more.len()) };
            say(&format!(
                "{}{others}: the events are approximate: a flow record counts whole in the window of its last packet; \
                 edison run --rows records windows as they were",
                first.display()
            ));
        }
        self.remarks.iter().for_each(|line| say(line));
        let longest_ns = chain.graph.queries.iter().map(|query| query.over_ns).max().unwrap_or(0);
        let nodes = std::mem::take(&mut self.nodes).into_iter();
        Ok(nodes.map(|node| RecordedNode::new(node, longest_ns, Arc::clone(&self.tally))).collect())
    }

    /// Returns how it is shown.
    pub(super) fn showing(&self) -> Showing {
        Showing {
            has_answers: self.shows_answers,
            is_approximate: !self.of_records.is_empty(),
            since: Since::new(self.shown_from_ns, Arc::clone(&self.tally)),
        }
    }

    /// Adds what was wrong with the rows, and says what they lack. `has_reader_left`: the reader of what was asked has left.
    pub(super) fn add_to(&self, verdict: &mut ExitStatus, has_reader_left: bool) {
        self.tally.add_to(verdict, has_reader_left);
    }

    /// Returns what was read, and how many conditions became true, on a terminal.
    pub(super) fn summary(&self, stories_dropped: u64) -> String {
        self.tally.summary(stories_dropped)
    }
}
