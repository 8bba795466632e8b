//! What a controller is set to: options, and keys of its file by the same names.

use clap::Args;
use clap::builder::BoolishValueParser;
use packet::KeySpec;
use runtime::choices::{self, completed};
use runtime::names;
use runtime::quantity;
use runtime::spec::{AlertOptions, BrokerOptions, ClusterOptions, DEPLOYMENT, LIMITS, OUTPUT, QUESTION};
use runtime::variable::variable;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a controller joins, and where it shows that.
#[derive(Clone, Debug, Args)]
pub(crate) struct ControllerSettings {
    #[command(flatten)]
    pub(crate) broker: BrokerOptions,
    /// The name of a probe that it joins; may be given several times
    #[arg(help_heading = DEPLOYMENT, long, value_name = "NAME", env = "EDISON_NODES", hide_env = true)]
    pub(crate) nodes: Vec<String>,
    /// The file of its state: answers, events, and what it continues after a start
    #[arg(help_heading = DEPLOYMENT, long, value_name = "FILE", env = "EDISON_STATE_FILE", hide_env = true, default_value = "edison-controller.db")]
    pub(crate) state: PathBuf,
    /// Where another controller has that file open, wait, and take over when it ends
    #[arg(help_heading = DEPLOYMENT, long, env = "EDISON_STANDBY", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) standby: bool,
    #[command(flatten)]
    pub(crate) judgement: JudgementOptions,
    #[command(flatten)]
    pub(crate) page: PageOptions,
    #[command(flatten)]
    pub(crate) kafka: ClusterOptions,
    #[command(flatten)]
    pub(crate) alerts: AlertOptions,
    #[command(flatten)]
    pub(crate) archive: ArchiveOptions,
}

/// What a controller asks, and how it judges answers.
#[derive(Clone, Debug, Args)]
pub(crate) struct JudgementOptions {
    /// Length of the probes' windows
    #[arg(help_heading = QUESTION, long, value_name = "TIME", env = "EDISON_EVERY", hide_env = true, default_value = "10s", value_parser = notation::duration)]
    pub(crate) every: Duration,
    /// What a flow is, as the probes have it
    #[arg(help_heading = QUESTION, long, value_name = "FIELDS", env = "EDISON_KEY", hide_env = true, default_value = "src_addr,dst_addr,protocol,src_port,dst_port", hide_default_value = true, value_parser = completed(names::key, choices::key_fields), hide_possible_values = true)]
    pub(crate) key: KeySpec,
    /// A file of queries; may be given several times
    #[arg(help_heading = QUESTION, long, value_name = "FILE", env = "EDISON_QUERIES", hide_env = true)]
    pub(crate) queries: Vec<String>,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, long, value_name = "NAME=VALUE", env = "EDISON_SET", hide_env = true, value_parser = variable)]
    pub(crate) set: Vec<(String, String)>,
    /// How long answers of a window are awaited, 5min at most [default: 1s]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", env = "EDISON_GRACE", hide_env = true, value_parser = notation::duration)]
    pub(crate) grace: Option<Duration>,
    /// How late windows may come and still be judged, a day at most [default: 10min]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", env = "EDISON_LATENESS", hide_env = true, value_parser = notation::duration)]
    pub(crate) lateness: Option<Duration>,
    /// Windows without packets after which a key is forgotten [default: 60]
    #[arg(help_heading = QUESTION, long, value_name = "N", env = "EDISON_EXPIRE", hide_env = true, value_parser = notation::count)]
    pub(crate) expire: Option<u64>,
    /// A condition on an answer with less coverage than this is unknown [default: 99.9%]
    #[arg(help_heading = QUESTION, long, value_name = "SHARE", env = "EDISON_COVERAGE", hide_env = true, value_parser = quantity::coverage)]
    pub(crate) coverage: Option<f64>,
    /// Flows of each window that nodes keep for queries that answer in the window that fired [default: 1M]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_LOOK_BACK_FLOWS", hide_env = true, value_parser = notation::count)]
    pub(crate) look_back_flows: Option<u64>,
    /// The most memory of answers of earlier windows that queries read [default: 256MiB]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", env = "EDISON_EARLIER_MEMORY", hide_env = true, value_parser = notation::bytes)]
    pub(crate) earlier_memory: Option<u64>,
}

/// Where the page and the API of a controller are, and who may ask them.
#[derive(Clone, Debug, Args)]
pub(crate) struct PageOptions {
    /// The address of the page and the API; beyond loopback they need TLS and tokens
    #[arg(help_heading = OUTPUT, long, value_name = "HOST:PORT", env = "EDISON_LISTEN", hide_env = true, default_value_t = quantity::USUAL_ADDRESS, value_parser = quantity::address)]
    pub(crate) listen: SocketAddr,
    /// The file of tokens (edison controller token)
    #[arg(help_heading = OUTPUT, long, value_name = "FILE", env = "EDISON_TOKENS", hide_env = true)]
    pub(crate) tokens: Option<PathBuf>,
    /// The certificate of the page and the API (PEM)
    #[arg(help_heading = OUTPUT, long, value_name = "FILE", env = "EDISON_WEB_CERTIFICATE", hide_env = true)]
    pub(crate) web_certificate: Option<PathBuf>,
    /// The key of that certificate
    #[arg(help_heading = OUTPUT, long, value_name = "FILE", env = "EDISON_WEB_KEY", hide_env = true)]
    pub(crate) web_key: Option<PathBuf>,
    /// A further name by which they may be asked, as behind a proxy; may be given several times
    #[arg(help_heading = OUTPUT, long, value_name = "HOST", env = "EDISON_WEB_NAMES", hide_env = true)]
    pub(crate) web_names: Vec<String>,
}

/// How much a controller keeps; the oldest go first.
#[derive(Clone, Debug, Args)]
pub(crate) struct ArchiveOptions {
    /// Answers that are kept [default: 1M]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_KEEP_ANSWERS", hide_env = true, value_parser = notation::count)]
    pub(crate) keep_answers: Option<u64>,
    /// Events that are kept, and likewise stories [default: 100k]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_KEEP_EVENTS", hide_env = true, value_parser = notation::count)]
    pub(crate) keep_events: Option<u64>,
    /// Captures that are kept [default: 1k]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_KEEP_CAPTURES", hide_env = true, value_parser = notation::count)]
    pub(crate) keep_captures: Option<u64>,
    /// Bytes of the files of captures together [default: 64MiB]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", env = "EDISON_KEEP_CAPTURE_BYTES", hide_env = true, value_parser = notation::bytes)]
    pub(crate) keep_capture_bytes: Option<u64>,
}
