//! Options of a dry run: recorded rows in the place of a measurement.

use super::{
    CaptureOptions, LIMITS, LimitOptions, MachineOptions, OUTPUT, OutputOptions, PacketOptions, QUESTION,
    QuestionOptions, RecordOptions, RouterOptions, RunSpec, SourceOptions,
};
use crate::enrich::EnrichOptions;
use crate::variable::variable;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `edison dry-run`.
#[derive(Clone, Debug, Args)]
pub struct DryRunOptions {
    /// An Equery file (not with -q and -f), then files of window rows or flow records, or patterns of their names;
    /// NAME=FILE is the node of this name
    #[arg(value_name = "FILE")]
    words: Vec<String>,
    /// Replay the window rows in the store of a probe, a folder, instead of files
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Only windows that begin from this time on: 2026-11-01, '2026-11-01 06:00', -1h (before now). Queries that read values of
    /// earlier windows (offset, avg_over) have those before it too
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Only windows that begin before this time
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Queries as text; may be given several times
    #[arg(help_heading = QUESTION, short, long, value_name = "TEXT")]
    query: Vec<String>,
    /// Queries of an Equery file; '-' is standard input
    #[arg(help_heading = QUESTION, short, long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, long, value_name = "NAME=VALUE", value_parser = variable)]
    set: Vec<(String, String)>,
    /// Length of the windows of queries that do not say it, a multiple of the rows' own [default: as in the run that wrote the
    /// rows; 10s over flow records]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", value_parser = notation::duration)]
    every: Option<Duration>,
    /// Show the answers of the queries too
    #[arg(help_heading = OUTPUT, long)]
    answers: bool,
    /// Print JSON, a line for each event, instead of stories
    #[arg(help_heading = OUTPUT, long)]
    json: bool,
    /// The most memory for groups and for rows that wait for their windows [default: half of the machine's]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", value_parser = notation::bytes)]
    memory: Option<u64>,
    /// What is added to answers.
    #[command(flatten)]
    enrich: EnrichOptions,
}

/// Recorded rows in the place of what is measured.
#[derive(Clone, Debug)]
pub struct RecordedOptions {
    /// A file of queries, where no option gives any, and files of rows.
    pub(crate) words: Vec<String>,
    /// A store instead of files.
    pub(crate) store: Option<PathBuf>,
    /// The begin of the period, as the user writes it.
    pub(crate) from: Option<String>,
    /// The end of the period, as the user writes it.
    pub(crate) to: Option<String>,
    /// The length of the windows of queries that do not say it, where the user does.
    pub(crate) every: Option<Duration>,
    /// True if answers are shown beside events.
    pub(crate) answers: bool,
}

impl RecordedOptions {
    /// Returns the length that the user gives windows, nanoseconds.
    pub(crate) fn every_ns(&self) -> Option<u64> {
        self.every.map(|every| u64::try_from(every.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl DryRunOptions {
    /// Returns what is to be run: nothing is measured, and events go to standard output.
    pub fn into_spec(self) -> RunSpec {
        let Self { words, store, from, to, query, file, set, every, answers, json, memory, enrich } = self;
        RunSpec {
            question: QuestionOptions { query, file, set, enrich, ..QuestionOptions::default() },
            output: OutputOptions { json, ..OutputOptions::default() },
            limit: LimitOptions { memory, ..LimitOptions::default() },
            source: SourceOptions::default(),
            routers: RouterOptions::default(),
            packets: PacketOptions::default(),
            capture: CaptureOptions::default(),
            record: RecordOptions::default(),
            machine: MachineOptions::default(),
            link: None,
            recorded: Some(RecordedOptions { words, store, from, to, every, answers }),
            default_every: None,
            read_statistics: Vec::new(),
            json_windows: false,
        }
    }
}
