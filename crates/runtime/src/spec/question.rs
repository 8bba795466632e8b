//! Options of questions.

use super::QUESTION;
use crate::choices;
use crate::choices::completed;
use crate::enrich::EnrichOptions;
use crate::names;
use crate::quantity;
use crate::variable::variable;
use clap::Args;
use clap::builder::StringValueParser;
use engine::Every;
use packet::KeySpec;
use std::path::PathBuf;
use std::time::Duration;

/// What is asked.
#[derive(Clone, Debug, Args)]
pub struct QuestionOptions {
    /// Length of a window: a time (10s) or packets (1Mp)
    ///
    /// A time, or a number of received packets. Of a capture, the windows are shown where this is given; else the answers over the
    /// whole run alone.
    #[arg(help_heading = QUESTION, long, value_name = "TIME|PACKETSp", env = "EDISON_EVERY", hide_env = true, default_value = "10s", value_parser = quantity::every)]
    pub(crate) every: Every,
    /// Lines in a ranking
    #[arg(help_heading = QUESTION, short = 'n', long, value_name = "N", env = "EDISON_TOP", hide_env = true, default_value_t = 10, value_parser = quantity::lines)]
    pub(crate) top: usize,
    /// What a flow is: fields (src_addr/24/64,dst_port)
    ///
    /// Fields, and prefixes of addresses for IPv4 and IPv6. Usual is the 5-tuple: src_addr,dst_addr,protocol,src_port,dst_port.
    #[arg(help_heading = QUESTION, long, value_name = "FIELDS", env = "EDISON_KEY", hide_env = true, default_value = "src_addr,dst_addr,protocol,src_port,dst_port", hide_default_value = true, value_parser = completed(names::key, choices::key_fields), hide_possible_values = true)]
    pub(crate) key: KeySpec,
    /// Answer a question of each window (edison tasks lists them)
    ///
    /// Such as heavy-hitters:key=src_addr,share=0.2%. May be given several times.
    #[arg(help_heading = QUESTION, long, value_name = "SPEC", env = "EDISON_TASK", hide_env = true, value_delimiter = ' ', value_parser = completed(StringValueParser::new(), choices::tasks), hide_possible_values = true)]
    pub(crate) task: Vec<String>,
    /// Ask in Equery: 'select count(src_addr), dst_addr groupby dst_addr'
    ///
    /// Of a capture, the answer is that over the whole run, and in --json that of each window; a query with `every` answers of its own
    /// windows. May be given several times. docs/equery.md describes the language.
    #[arg(help_heading = QUESTION, short, long, value_name = "TEXT", env = "EDISON_QUERY", hide_env = true)]
    pub(crate) query: Vec<String>,
    /// Ask what is in a file of Equery; '-' is standard input
    #[arg(help_heading = QUESTION, hide_short_help = true, short, long, value_name = "FILE", env = "EDISON_FILE", hide_env = true)]
    pub(crate) file: Vec<PathBuf>,
    /// Rank by these fields, as src_addr/24,dst_port: short for a query
    #[arg(help_heading = QUESTION, long, value_name = "FIELDS", env = "EDISON_BY", hide_env = true)]
    pub(crate) by: Option<String>,
    /// What --by orders by, the largest first: bytes, packets, flows, count(src_addr) [default: bytes]
    #[arg(help_heading = QUESTION, hide_short_help = true, long, value_name = "ITEM", env = "EDISON_SORT", hide_env = true)]
    pub(crate) sort: Option<String>,
    /// A row for each interval, as 1min: of the queries, or of all traffic
    #[arg(help_heading = QUESTION, hide_short_help = true, long, value_name = "TIME", env = "EDISON_PER", hide_env = true, value_parser = notation::duration)]
    pub(crate) per: Option<Duration>,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, hide_short_help = true, long, value_name = "NAME=VALUE", env = "EDISON_SET", hide_env = true, value_delimiter = ' ', value_parser = variable)]
    pub(crate) set: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) enrich: EnrichOptions,
}

/// The default asks nothing.
impl Default for QuestionOptions {
    fn default() -> Self {
        Self {
            every: Every::Time(0),
            top: 0,
            key: KeySpec::default(),
            task: Vec::new(),
            query: Vec::new(),
            file: Vec::new(),
            by: None,
            sort: None,
            per: None,
            set: Vec::new(),
            enrich: EnrichOptions::default(),
        }
    }
}
