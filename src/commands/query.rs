//! `edison query`: answers questions about recorded flows.

use super::LIMITS;
use super::OUTPUT;
use super::QUESTION;
use crate::engine_options::EngineOptions;
use clap::Args;
use runtime::enrich::EnrichOptions;
use runtime::variable::variable;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const QUERY_USAGE: &str = "edison query [OPTIONS] {FILE… | --store DIR | --controller URL} [TEXT]";

pub(super) const QUERY_EXAMPLES: &str = "\
Examples:
  edison query flows.parquet                       the first screen: hosts, conversations, ports
  edison query 'flows*.parquet' 'select dst_port, sum(total_byte) groupby dst_port'
  edison query flows.parquet --by src_addr/24 --sort packets --top 5
  edison query flows.parquet --per 1min            a row of figures per minute
  edison query day1.parquet day2.parquet --from 2026-11-01 --to '2026-11-02 06:00' --by dst_addr
  edison query --diff monday.parquet tuesday.parquet --by dst_port
  edison query flows.parquet --diff 2026-11-01 2026-11-02 --by src_addr
  edison query rows.parquet -f questions.eq --json
  edison query --store /var/lib/edison/store --by dst_addr --from -1h       what a probe remembers
  edison query --store store 'select src_addr/16, sum(total_byte) groupby src_addr/16 last 7d'
  edison query --store store --engine duckdb --by dst_port                  by another engine
  edison query --store store --engine spark --engine-url spark://host:7077 -f questions.eq
  edison query --store store --engine clickhouse --engine-url http://127.0.0.1:8123 --by src_addr
  edison query --controller http://127.0.0.1:8080 'select count(*) last 1h across nodes by sum'

Files are what edison run --flows and --rows write, and any Parquet or CSV file whose columns have
such names. Patterns are expanded. Times without a zone are UTC. A store is what --store of a
measurement keeps: each question is answered from its coarsest rollup that is exact for it, and the
answer says which. With --engine another engine answers from those files, in the same words. With
--controller the stores of its probes answer; a probe that is missing is named, with the reason.
Ctrl-C ends reading: the answers of what was read are partial.
Exit codes: 0 well; 1 a fault while running; 2 wrong usage, or no file can be read;
3 a file is damaged or cannot be read, and the others are answered, a probe is missing, or Ctrl-C.";

/// Options of `edison query` that ask a controller.
#[derive(Clone, Debug, Args)]
pub(crate) struct RemoteOptions {
    /// Answer from the stores of the probes of this controller (http://127.0.0.1:8080) instead of files
    #[arg(long, value_name = "URL")]
    pub(crate) controller: Option<String>,
    /// Only these of its nodes: Node1,Node2
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "controller")]
    pub(crate) nodes: Vec<String>,
    /// How long its nodes may take [default: 30s]
    #[arg(help_heading = LIMITS, long, value_name = "TIME", value_parser = notation::duration, requires = "controller")]
    pub(crate) time: Option<Duration>,
    /// A file whose first line is the token to show to it; or the token itself in EDISON_TOKEN
    #[arg(long, value_name = "FILE", env = "EDISON_TOKEN_FILE", hide_env = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates of the authorities that signed its own, for https:// [default: those of this system]
    #[arg(long, value_name = "FILE", env = "EDISON_CA", hide_env = true)]
    pub(crate) ca: Option<PathBuf>,
}

/// Options of `edison query`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueryOptions {
    /// Flow files or patterns of their names, then a query as text
    #[arg(value_name = "FILE")]
    pub(crate) words: Vec<String>,
    /// Answer from the store of a probe, a folder, instead of files
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineOptions,
    #[command(flatten)]
    pub(crate) remote: RemoteOptions,
    /// Ask in Equery; may be given several times
    #[arg(help_heading = QUESTION, short, long, value_name = "TEXT")]
    pub(crate) query: Vec<String>,
    /// Ask what this Equery file contains
    #[arg(help_heading = QUESTION, short, long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Rank by any fields: src_addr/24,dst_port
    #[arg(help_heading = QUESTION, long, value_name = "FIELDS")]
    pub(crate) by: Option<String>,
    /// What --by is ordered by: bytes, packets, flows, any item [default: bytes]
    #[arg(help_heading = QUESTION, long, value_name = "ITEM")]
    pub(crate) sort: Option<String>,
    /// A row of figures for each interval
    #[arg(help_heading = QUESTION, long, value_name = "TIME", value_parser = notation::duration)]
    pub(crate) per: Option<Duration>,
    /// Only rows that count from this time on: 2026-11-01, '2026-11-01 06:00', -1h (before now)
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Only rows that count before this time
    #[arg(help_heading = QUESTION, long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Compare two files, or two periods of the same files: a day (2026-11-01), or FROM..TO
    #[arg(help_heading = QUESTION, long, num_args = 2, value_names = ["A", "B"])]
    pub(crate) diff: Vec<String>,
    /// Lines of a ranking
    #[arg(help_heading = OUTPUT, short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Print JSON, a line for each answer, instead of tables
    #[arg(help_heading = OUTPUT, long)]
    pub(crate) json: bool,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) set: Vec<(String, String)>,
    /// The most memory for groups [default: half of the machine's]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", value_parser = notation::bytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) enrich: EnrichOptions,
}

impl QueryOptions {
    /// The address of the controller that is asked.
    pub(crate) fn controller(&self) -> Option<&str> {
        self.remote.controller.as_deref()
    }
}
