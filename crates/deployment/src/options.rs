//! Options of the commands of a deployment, and keys of a controller's file by the same names.

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

/// The settings of a controller: the probes that it joins, and where it shows their answers.
#[derive(Clone, Debug, Args)]
pub struct ControllerSettings {
    /// The broker.
    #[command(flatten)]
    pub broker: BrokerOptions,
    /// The names of the probes that it joins
    #[arg(help_heading = DEPLOYMENT, long, value_name = "NAME,…", env = "EDISON_NODES", hide_env = true, value_delimiter = ',')]
    pub nodes: Vec<String>,
    /// The file of its state: answers, events, and what it continues after a start
    #[arg(help_heading = DEPLOYMENT, long, value_name = "FILE", env = "EDISON_STATE_FILE", hide_env = true, default_value = "edison-controller.db")]
    pub state: PathBuf,
    /// Where another controller has that file open, wait, and take over when it ends
    #[arg(help_heading = DEPLOYMENT, long, env = "EDISON_STANDBY", hide_env = true, value_parser = BoolishValueParser::new())]
    pub standby: bool,
    /// The questions, and the judgement of answers.
    #[command(flatten)]
    pub judgement: JudgementOptions,
    /// The page and the API.
    #[command(flatten)]
    pub page: PageOptions,
    /// Where Kafka is.
    #[command(flatten)]
    pub kafka: ClusterOptions,
    /// Which Alertmanagers are told.
    #[command(flatten)]
    pub alerts: AlertOptions,
    /// The limits of the archive.
    #[command(flatten)]
    pub archive: ArchiveOptions,
}

/// The questions of a controller, and its judgement of answers.
#[derive(Clone, Debug, Args)]
pub struct JudgementOptions {
    /// Length of the probes' windows
    #[arg(help_heading = QUESTION, long, value_name = "TIME", env = "EDISON_EVERY", hide_env = true, default_value = "10s", value_parser = notation::duration)]
    pub every: Duration,
    /// The fields of a flow key, as the probes have them
    #[arg(help_heading = QUESTION, long, value_name = "FIELDS", env = "EDISON_KEY", hide_env = true, default_value = "src_addr,dst_addr,protocol,src_port,dst_port", hide_default_value = true, value_parser = completed(names::key, choices::key_fields), hide_possible_values = true)]
    pub key: KeySpec,
    /// A file of queries; may be given several times
    #[arg(help_heading = QUESTION, long, value_name = "FILE", env = "EDISON_QUERIES", hide_env = true)]
    pub queries: Vec<String>,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, long, value_name = "NAME=VALUE", env = "EDISON_SET", hide_env = true, value_parser = variable)]
    pub set: Vec<(String, String)>,
    /// Time for which the answers of a window are awaited, 5min at most [default: 1s]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", env = "EDISON_GRACE", hide_env = true, value_parser = notation::duration)]
    pub grace: Option<Duration>,
    /// Age up to which late windows are judged, a day at most [default: 10min]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", env = "EDISON_LATENESS", hide_env = true, value_parser = notation::duration)]
    pub lateness: Option<Duration>,
    /// Windows without packets after which a key is forgotten [default: 60]
    #[arg(help_heading = QUESTION, long, value_name = "N", env = "EDISON_EXPIRE", hide_env = true, value_parser = notation::count)]
    pub expire: Option<u64>,
    /// A condition on an answer with less coverage than this is unknown [default: 99.9%]
    #[arg(help_heading = QUESTION, long, value_name = "SHARE", env = "EDISON_COVERAGE", hide_env = true, value_parser = quantity::coverage)]
    pub coverage: Option<f64>,
    /// Flows of each window that nodes keep for queries that answer in the window that fired [default: 1M]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_LOOK_BACK_FLOWS", hide_env = true, value_parser = notation::count)]
    pub look_back_flows: Option<u64>,
    /// The most memory of answers of earlier windows that queries read [default: 256MiB]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", env = "EDISON_EARLIER_MEMORY", hide_env = true, value_parser = notation::bytes)]
    pub earlier_memory: Option<u64>,
}

/// Where the page and the API of a controller are, and who may ask them.
#[derive(Clone, Debug, Args)]
pub struct PageOptions {
    /// The address of the page and the API; beyond loopback they need TLS and tokens
    #[arg(help_heading = OUTPUT, long, value_name = "HOST:PORT", env = "EDISON_LISTEN", hide_env = true, default_value_t = quantity::DEFAULT_ADDRESS, value_parser = quantity::address)]
    pub listen: SocketAddr,
    /// The file of tokens (edison controller token)
    #[arg(help_heading = OUTPUT, long, value_name = "FILE", env = "EDISON_TOKENS", hide_env = true)]
    pub tokens: Option<PathBuf>,
    /// The certificate of the page and the API (PEM)
    #[arg(help_heading = OUTPUT, long, value_name = "FILE", env = "EDISON_WEB_CERTIFICATE", hide_env = true)]
    pub web_certificate: Option<PathBuf>,
    /// The key of that certificate
    #[arg(help_heading = OUTPUT, long, value_name = "FILE", env = "EDISON_WEB_KEY", hide_env = true)]
    pub web_key: Option<PathBuf>,
    /// A further name by which they may be asked, as behind a proxy; may be given several times
    #[arg(help_heading = OUTPUT, long, value_name = "HOST", env = "EDISON_WEB_NAMES", hide_env = true)]
    pub web_names: Vec<String>,
}

/// The limits of what a controller keeps. The oldest go first.
#[derive(Clone, Debug, Args)]
pub struct ArchiveOptions {
    /// Answers that are kept [default: 1M]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_KEEP_ANSWERS", hide_env = true, value_parser = notation::count)]
    pub keep_answers: Option<u64>,
    /// Events that are kept, and likewise stories [default: 100k]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_KEEP_EVENTS", hide_env = true, value_parser = notation::count)]
    pub keep_events: Option<u64>,
    /// Captures that are kept [default: 1k]
    #[arg(help_heading = LIMITS, long, value_name = "N", env = "EDISON_KEEP_CAPTURES", hide_env = true, value_parser = notation::count)]
    pub keep_captures: Option<u64>,
    /// Bytes of the files of captures together [default: 64MiB]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", env = "EDISON_KEEP_CAPTURE_BYTES", hide_env = true, value_parser = notation::bytes)]
    pub keep_capture_bytes: Option<u64>,
}

/// Options of `edison controller token`.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["name", "list", "remove"]))]
pub struct TokenOptions {
    /// Make a token of this name: letters, digits, '-', '_' and '.'
    #[arg(value_name = "NAME", requires = "role")]
    pub name: Option<String>,
    /// What its bearer may do: view, run or admin
    #[arg(long, value_name = "ROLE", requires = "name", value_parser = completed(str::parse::<web::Role>, choices::roles), hide_possible_values = true)]
    pub role: Option<web::Role>,
    /// The file of tokens, which is made if it is not there
    #[arg(long, value_name = "FILE")]
    pub file: PathBuf,
    /// Write the token to this new file instead of printing it
    #[arg(long, value_name = "FILE", requires = "name")]
    pub out: Option<PathBuf>,
    /// List names and roles
    #[arg(long)]
    pub list: bool,
    /// Remove the token of this name
    #[arg(long, value_name = "NAME")]
    pub remove: Option<String>,
}

/// Options of `edison controller provision`.
#[derive(Clone, Debug, Args)]
#[command(group(clap::ArgGroup::new("login").required(true)))]
pub struct ProvisionOptions {
    /// The settings of the controller: its broker and its nodes count
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// The broker's management API, which is told what is missing; without it the calls of rabbitmqctl are printed
    #[arg(long, value_name = "URL")]
    pub management: Option<String>,
    /// A file with the password of EDISON_MANAGEMENT_USER (default: EDISON_MANAGEMENT_PASSWORD)
    #[arg(long, value_name = "FILE", requires = "management")]
    pub password_file: Option<PathBuf>,
    /// Users log in by certificates, which have their names; they get no passwords
    #[arg(long, group = "login")]
    pub certificates: bool,
    /// Users log in by passwords; those of new ones are written to DIR/NAME.password
    #[arg(long, value_name = "DIR", group = "login")]
    pub passwords: Option<PathBuf>,
}

/// Options of `edison authority`.
#[derive(Clone, Debug, Args)]
pub struct AuthorityOptions {
    /// Where the files are, or will be
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The nodes
    #[arg(value_name = "NAME")]
    pub nodes: Vec<String>,
    /// A name or address of the broker; localhost always is one (may be given several times)
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
}
