//! `edison dry-run`: lists the events that queries would have caused.

use super::LIMITS;
use super::OUTPUT;
use super::QUESTION;
use clap::Args;
use runtime::enrich::EnrichOptions;
use runtime::variable::variable;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const DRY_RUN_USAGE: &str = "edison dry-run [OPTIONS] QUERIES.eq {[NAME=]FILE… | --store DIR}";

pub(super) const DRY_RUN_EXAMPLES: &str = "\
Examples:
  edison run trace.pcap --rows rows.parquet            records window rows
  edison dry-run chain.eq rows.parquet                 the stories that chain.eq would have told
  edison dry-run chain.eq rows.parquet --set K1=10K --json      the events, a line of JSON for each
  edison dry-run chain.eq Node1=a.parquet Node2=b.parquet       two nodes, whatever the files name them
  edison dry-run rules.eq 'flows-*.parquet' --every 1min        over flow records: approximate
  edison dry-run rules.eq --store store --from -2h --to -1h     over what a probe remembers
  edison dry-run rows.parquet -q 'a: select rate(total_byte) as r; b: select count(*) when a.r > 1Gbps'

Over window rows (edison run --rows) the events are those of a live run over the same windows. A flow record counts whole in the
window in which it ends: events over records are approximate, and say so. Patterns are expanded.
Exit codes: 0 well; 1 a fault while running; 2 wrong usage, errors in the queries, or no file can be read;
3 a file is damaged or cannot be read, and the rest is answered, or Ctrl-C.";

/// Options of `edison dry-run`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DryRunOptions {
    /// An Equery file (not with -q and -f), then files of window rows or flow records, or patterns of their names;
    /// NAME=FILE is the node of this name
    #[arg(value_name = "FILE")]
    pub(crate) words: Vec<String>,
    /// Replay the window rows in the store of a probe, a folder, instead of files
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Only windows that begin from this time on: 2026-11-01, '2026-11-01 06:00', -1h (before now). Queries that read values of
    /// earlier windows (offset, avg_over) have those before it too
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Only windows that begin before this time
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Queries as text; may be given several times
    #[arg(help_heading = QUESTION, short, long, value_name = "TEXT")]
    pub(crate) query: Vec<String>,
    /// Queries of an Equery file; '-' is standard input
    #[arg(help_heading = QUESTION, short, long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) set: Vec<(String, String)>,
    /// Length of the windows of queries that do not say it, a multiple of the rows' own [default: as in the run that wrote the
    /// rows; 10s over flow records]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", value_parser = notation::duration)]
    pub(crate) every: Option<Duration>,
    /// Show the answers of the queries too
    #[arg(help_heading = OUTPUT, long)]
    pub(crate) answers: bool,
    /// Print JSON, a line for each event, instead of stories
    #[arg(help_heading = OUTPUT, long)]
    pub(crate) json: bool,
    /// The most memory for groups and for rows that wait for their windows [default: half of the machine's]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", value_parser = notation::bytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) enrich: EnrichOptions,
}
