//! Options of outputs.

use super::OUTPUT;
use super::{AlertOptions, KafkaOptions, SiteOptions};
use crate::choices;
use crate::choices::completed;
use crate::quantity;
use clap::Args;
use clap::builder::BoolishValueParser;
use clap::builder::StringValueParser;
use record::Collector;
use record::Rotation;
use std::net::SocketAddr;
use std::path::PathBuf;
use store::StoreRetention;

impl OutputOptions {
    /// Returns true if something takes flow records.
    pub(crate) fn has_records(&self) -> bool {
        self.flows.is_some() || self.export.is_some() || self.store.is_some()
    }
}

/// Where answers and records go.
#[derive(Clone, Debug, Default, Args)]
pub struct OutputOptions {
    /// Write flow records: .csv, .jsonl, .parquet, .ipfix
    ///
    /// The suffix chooses the format; '-' is standard output, as CSV.
    #[arg(help_heading = OUTPUT, short = 'w', long, value_name = "PATH", env = "EDISON_FLOWS", hide_env = true)]
    pub(crate) flows: Option<PathBuf>,
    /// Write the report of the run as JSON; '-' is standard output
    #[arg(help_heading = OUTPUT, long, value_name = "PATH", env = "EDISON_REPORT", hide_env = true)]
    pub(crate) report: Option<PathBuf>,
    /// Write the lines that --json prints to a file, whatever the screen shows
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "PATH", env = "EDISON_ANSWERS", hide_env = true)]
    pub answers: Option<PathBuf>,
    /// Serve the page and the API during the run and after it, until Ctrl-C [default: 127.0.0.1:8080]
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "HOST:PORT", env = "EDISON_WEB", hide_env = true, num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:8080", value_parser = quantity::address)]
    pub(crate) web: Option<SocketAddr>,
    /// Print JSON, a line for each answer of a window, instead of tables
    #[arg(help_heading = OUTPUT, long, env = "EDISON_JSON", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Fields of flow records, in this order (see edison fields)
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "LIST", env = "EDISON_FIELDS", hide_env = true, value_parser = completed(StringValueParser::new(), choices::fields), hide_possible_values = true)]
    pub(crate) fields: Option<String>,
    /// Keep header fields of flows beyond the plain ones (see edison fields)
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, env = "EDISON_HEADERS", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) headers: bool,
    /// Write window rows, what each flow counted in each window, as Parquet; the path ends in .parquet
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "PATH", env = "EDISON_ROWS", hide_env = true)]
    pub(crate) rows: Option<PathBuf>,
    /// Keep window rows and flow records in this folder, with rollups to 1 min and 1 h, for edison query --store and any engine
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "DIR", env = "EDISON_STORE", hide_env = true)]
    pub(crate) store: Option<PathBuf>,
    /// How long the store keeps what, 0 for not at all, and its size [default: rows=1d,flows=7d,1min=30d,1h=1y, and half of the
    /// file system, 100G at the most]
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "KEY=TIME,…", env = "EDISON_STORE_KEEP", hide_env = true)]
    pub(crate) store_keep: Option<StoreRetention>,
    /// Begin a new file after this much stream time (1h) or this many bytes (100MiB), and on SIGHUP (hup: only then); times
    /// stand in the names
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "TIME|SIZE|hup", env = "EDISON_ROTATE", hide_env = true, value_parser = quantity::rotation)]
    pub(crate) rotate: Option<Rotation>,
    /// Send flow records to an IPFIX collector: ipfix://HOST:PORT (UDP), ipfix://HOST:PORT?transport=tcp
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "URL", env = "EDISON_EXPORT", hide_env = true)]
    pub(crate) export: Option<Collector>,
    #[command(flatten)]
    pub(crate) kafka: KafkaOptions,
    #[command(flatten)]
    pub(crate) alerts: AlertOptions,
    /// Replace addresses, prefixes kept, in records and reports (Crypto-PAn): a file of 32 bytes or 64 hexadecimal digits
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "KEYFILE", env = "EDISON_ANONYMIZE", hide_env = true)]
    pub(crate) anonymize: Option<PathBuf>,
    /// Name of this observation point [default: the host's name]
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "NAME", env = "EDISON_NODE", hide_env = true)]
    pub(crate) node: Option<String>,
    #[command(flatten)]
    pub(crate) sites: SiteOptions,
}
