//! Options of a dry run: recorded rows in the place of a measurement.

use super::{LIMITS, OUTPUT, QUESTION};
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
    pub words: Vec<String>,
    /// Replay the window rows in the store of a probe, a folder, instead of files
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Only windows that begin from this time on: 2026-11-01, '2026-11-01 06:00', -1h (before now). Queries that read values of
    /// earlier windows (offset, avg_over) have those before it too
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Only windows that begin before this time
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Queries as text; may be given several times
    #[arg(help_heading = QUESTION, short, long, value_name = "TEXT")]
    pub query: Vec<String>,
    /// Queries of an Equery file; '-' is standard input
    #[arg(help_heading = QUESTION, short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, long, value_name = "NAME=VALUE", value_parser = variable)]
    pub set: Vec<(String, String)>,
    /// Length of the windows of queries that do not say it, a multiple of the rows' own [default: as in the run that wrote the
    /// rows; 10s over flow records]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", value_parser = notation::duration)]
    pub every: Option<Duration>,
    /// Show the answers of the queries too
    #[arg(help_heading = OUTPUT, long)]
    pub answers: bool,
    /// Print JSON, a line for each event, instead of stories
    #[arg(help_heading = OUTPUT, long)]
    pub json: bool,
    /// The most memory for groups and for rows that wait for their windows [default: half of the machine's]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", value_parser = notation::bytes)]
    pub memory: Option<u64>,
    /// What is added to answers.
    #[command(flatten)]
    pub enrich: EnrichOptions,
}
