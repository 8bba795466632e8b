//! The command line.

use crate::alert_options::AlertOptions;
use crate::bound::Bound;
use crate::choices::{self, completed};
use crate::delivery::KafkaOptions;
use crate::engine_options::{self, EngineOptions};
use crate::enrich::EnrichOptions;
use crate::names;
use crate::quantity;
use crate::query_text::QueryTextOptions;
use crate::routers::{Listener, RouterOptions};
use crate::variable::variable;
use clap::builder::{BoolishValueParser, StringValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use engine::{Cores, Design, Every, Snap, Split, State};
use flow::Share;
use packet::KeySpec;
use port::Pacing;
use port::wire::WireSpec;
use record::{Collector, Rotation};
use router::{Network, Rate};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use store::Keep;
use summary::StatisticSpec;

const USAGE: &str = "edison SOURCE… [FILTER]
       edison COMMAND";

const EXAMPLES: &str = "\
`edison trace.pcap` is short for `edison run trace.pcap`, `edison -i eth0` for `edison run -i eth0`.
`edison run -h` shows the options that most runs need.";

/// Exact network measurement, with its own loss next to every figure.
#[derive(Debug, Parser)]
#[command(name = "edison", version, max_term_width = 110, override_usage = USAGE, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure captures, interfaces or ports, and answer
    Run(Box<RunOptions>),
    /// Answer questions about recorded flows: Parquet, CSV, JSON lines, IPFIX
    #[command(after_help = QUERY_EXAMPLES, override_usage = QUERY_USAGE)]
    Query(Box<QueryOptions>),
    /// Receive flow records of routers, NetFlow v5, v9 and IPFIX, and answer as run does
    #[command(after_help = COLLECT_EXAMPLES)]
    Collect(Box<CollectOptions>),
    /// Read flow records into a store: nfdump's CSV, IPFIX, Parquet, CSV, JSON lines
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportOptions),
    /// List the events that queries would have caused over recorded windows or flows
    #[command(after_help = DRY_RUN_EXAMPLES, override_usage = DRY_RUN_USAGE)]
    DryRun(DryRunOptions),
    /// Check queries without traffic: errors, each with its place and what to do
    #[command(after_help = CHECK_EXAMPLES)]
    Check(QueryTextOptions),
    /// Explain queries without traffic: class, place, cost, reaction time and SQL of each
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainOptions),
    /// Measure as a node of a deployment, and answer what its controller asks
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(ProbeOptions),
    /// Join many probes: queries, events, the page and the API
    #[command(after_help = CONTROLLER_EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Controller(ControllerOptions),
    /// Make a private authority and certificates of a broker, a controller and probes
    #[command(after_help = AUTHORITY_EXAMPLES)]
    Authority(AuthorityOptions),
    /// List the nodes of a controller: state, packets, loss, coverage, tasks
    #[command(after_help = CLIENT_EXAMPLES)]
    Nodes(ClientOptions),
    /// List the queries of a controller
    Queries(ClientOptions),
    /// List the newest events
    Events(EventsOptions),
    /// Tell the story of an event
    Story(StoryOptions),
    /// Add queries to those that a controller answers
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddOptions),
    /// Remove queries from those that a controller answers
    Cancel(CancelOptions),
    /// Show events as they happen, until Ctrl-C
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(WatchOptions),
    /// Show a run with --web or a controller on this terminal as it goes: now, chains, nodes
    #[command(after_help = TOP_EXAMPLES)]
    Top(TopOptions),
    /// List the fields of a flow record
    Fields {
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// List what can be measured on this machine, and what is missing for more
    Ports,
    /// List the tasks of `run --task`, the structures that answer them, and what is not built
    Tasks,
    /// Generate traffic, to a capture or out of a port, and the truth about it
    Generate(GenerateOptions),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, made from these helps, to a folder
    Man {
        /// The folder, as /usr/share/man/man1
        folder: PathBuf,
    },
}

const PROBE_EXAMPLES: &str = "\
Example of a file:
  broker = \"amqp://edison@127.0.0.1:5672\"    # and password-file, see below
  node = \"Node1\"
  interface = [\"eth0\"]                       # or port = [\"0000:01:00.0\"]
  every = \"1s\"                               # as the controller's
  loss = true

The password is in 'password-file' or EDISON_BROKER_PASSWORD. With amqps://, 'ca' names the authority of the broker's certificate; 'certificate' and 'key-file' say who connects.
Routers take the place of interfaces: collect = \"ipfix://:4739\", with from, sampling and wait, as edison collect has them.
Further keys: spool (64MiB), spool-file (none), and the options of edison run by their names. The probe measures
while the broker is away, keeps as many windows as 'spool' has room for, and connects again by itself. With
'spool-file' it keeps them in that file too, and sends after a kill or a power cut what was not delivered before.
SIGTERM or Ctrl-C ends it.
Exit codes: 0 well, 1 a fault while running, 2 wrong settings.";

const CONTROLLER_EXAMPLES: &str = "\
Example of a file:
  broker = \"amqp://edison@127.0.0.1:5672\"    # and password-file, see below
  nodes = [\"Node1\", \"Node2\"]
  every = \"1s\"                               # as the probes'
  queries = [\"examples/locate.eq\"]
  state = \"/var/lib/edison/controller.db\"

Further keys: listen (127.0.0.1:8080), tokens, web-certificate and web-key (to listen beyond loopback), web-names, grace (1s), key, set, keep-answers, keep-events, keep-captures, keep-capture-bytes.
docs/deployment.md has all.
The password is in 'password-file' or EDISON_BROKER_PASSWORD. With amqps://, 'ca' names the authority of the broker's certificate; 'certificate' and 'key-file' say who connects.
SIGTERM or Ctrl-C ends it; what it knows is in 'state', and it continues from there.
Exit codes: 0 well, 1 a fault while running, 2 wrong settings.";

const PROVISION_EXAMPLES: &str = "\
Examples:
  edison controller provision --config controller.toml --certificates > setup.sh    then sh setup.sh, at the broker
  EDISON_MANAGEMENT_USER=admin edison controller provision --config controller.toml --certificates \\
      --management https://broker:15671 --password-file admin.password
  edison controller provision --config controller.toml --passwords secrets --management http://127.0.0.1:15672

Each node gets a user of its name, who may send under that name, read its own tasks, and nothing else. It may be run
again: what is there stays, users keep their passwords, rights become what they should be. What is there with other
properties is named and not changed. Passwords are never printed.
Exit codes: 0 well; 1 something differs, or the API refuses or does not answer; 2 wrong usage or settings.";

const AUTHORITY_EXAMPLES: &str = "\
Examples:
  edison authority tls Node1 Node2 --host broker.example.net    tls/ca.pem, and a .pem and a .key for each
  edison authority tls Node3                                    one more, of the same authority

Files that are there stay. Certificates of the broker, the controller and the nodes are valid for two years, the
authority for ten. It says what is put where.
Exit codes: 0 well; 1 a file cannot be written; 2 wrong usage, or a file is missing or of something else.";

const CLIENT_EXAMPLES: &str = "\
Examples:
  edison nodes
  edison nodes --controller https://monitor.example.org:8443 --token-file ~/.edison-token
  EDISON_CONTROLLER=https://10.0.0.1:8443 EDISON_TOKEN=… edison nodes --ca ca.pem

Exit codes: 0 well; 1 the controller cannot be reached; 2 wrong usage, or the controller refuses; of edison nodes, 3 if a node is not up.";

const ADD_EXAMPLES: &str = "\
Examples:
  edison add locate.eq
  edison add -q 'syn: select dst_addr, count(*) where tcp_flags = 2 groupby dst_addr limit 10 every 10s'

Exit codes: 0 well; 1 the controller cannot be reached; 2 errors in the queries, or a name that is taken.";

const WATCH_EXAMPLES: &str = "\
Examples:
  edison watch                        a line for each event
  edison watch --answers              the answers too, as tables
  edison watch --json | jq .query     events as JSON, one on a line";

const TOP_EXAMPLES: &str = "\
Examples:
  edison top                          the API at http://127.0.0.1:8080
  edison top http://127.0.0.1:9000    a run with --web 127.0.0.1:9000
  edison top https://monitor.example.org:8443 --token-file ~/.edison-token

Keys: 1, 2, 3 or Tab for the views, j and k or arrows to choose, Enter for details, / to filter, ? for help, q to quit.
What does not answer any more is said, and asked again every second. NO_COLOR leaves colours out.
Exit codes: 0 well; 1 the controller cannot be reached at first; 2 wrong usage, or there is no terminal.";

/// Where the controller is, and what is shown to it.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApiOptions {
    /// The address of the controller, or of a run with --web
    #[arg(long, value_name = "URL", env = "EDISON_CONTROLLER", default_value = "http://127.0.0.1:8080")]
    pub(crate) controller: String,
    /// A file whose first line is the token to show; or the token itself in EDISON_TOKEN
    #[arg(long, value_name = "FILE", env = "EDISON_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates of the authorities that signed the controller's, for https:// [default: those of this system]
    #[arg(long, value_name = "FILE", env = "EDISON_CA")]
    pub(crate) ca: Option<PathBuf>,
}

/// Options of commands that ask a controller and print what it says.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClientOptions {
    #[command(flatten)]
    pub(crate) api: ApiOptions,
    /// Print JSON, as the API has it
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `edison events`.
#[derive(Clone, Debug, Args)]
pub(crate) struct EventsOptions {
    /// Of this query only
    #[arg(long, value_name = "NAME")]
    pub(crate) query: Option<String>,
    /// Of this node only
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Show the newest N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) top: u64,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// Options of `edison story`.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoryOptions {
    /// The story, or any event of it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// Options of `edison add`.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddOptions {
    /// Equery files; '-' is standard input
    #[arg(value_name = "FILE", required_unless_present = "query")]
    pub(crate) files: Vec<String>,
    /// Queries as text; may be given several times
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) query: Vec<String>,
    /// Put each query in the place of the standing one of its name
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// Options of `edison cancel`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CancelOptions {
    /// The queries; of a chain the last first
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// Options of `edison watch`.
#[derive(Clone, Debug, Args)]
pub(crate) struct WatchOptions {
    /// Show answers too
    #[arg(long)]
    pub(crate) answers: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// Options of `edison top`.
#[derive(Clone, Debug, Args)]
pub(crate) struct TopOptions {
    /// The address, in the place of --controller
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// How often it is drawn where no key is pressed, from 100ms on
    #[arg(long, value_name = "TIME", value_parser = quantity::pace, default_value = "1s")]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) api: ApiOptions,
}

/// Options of `edison probe`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProbeOptions {
    /// The settings, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// Options of `edison controller`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ControllerOptions {
    /// The settings, a TOML file
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Option<ControllerCommand>,
}

/// What is done for a controller instead.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ControllerCommand {
    /// Make, list or remove tokens, with which a controller is asked
    #[command(after_help = TOKEN_EXAMPLES)]
    Token(TokenOptions),
    /// Set the broker up: exchanges, queues, and a user with least rights for the controller and for each probe
    #[command(after_help = PROVISION_EXAMPLES)]
    Provision(ProvisionOptions),
}

const TOKEN_EXAMPLES: &str = "\
Examples:
  edison controller token alice --role view --file tokens               prints a token, which is told this once
  edison controller token ci --role run --file tokens --out ci.token    writes it to a file of mode 0600
  edison controller token --list --file tokens
  edison controller token --remove alice --file tokens

The file has names, roles and argon2 hashes; 'tokens' in the settings of a controller names it. A controller that runs takes
changes within a second. A token is shown with --token-file, EDISON_TOKEN, or on the page.
Roles: view reads all but captured packets; run also adds and cancels queries and fetches captured packets; admin is for what else
changes a deployment, which nothing does over HTTP yet.
Exit codes: 0 well; 1 a fault; 2 wrong usage: a name that is taken or not there, a file that others may read.";

/// Options of `edison controller token`.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["name", "list", "remove"]))]
pub(crate) struct TokenOptions {
    /// Make a token of this name: letters, digits, '-', '_' and '.'
    #[arg(value_name = "NAME", requires = "role")]
    pub(crate) name: Option<String>,
    /// What its bearer may do: view, run or admin
    #[arg(long, value_name = "ROLE", requires = "name", value_parser = completed(str::parse::<web::Role>, choices::roles), hide_possible_values = true)]
    pub(crate) role: Option<web::Role>,
    /// The file of tokens, which is made if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the token to this new file instead of printing it
    #[arg(long, value_name = "FILE", requires = "name")]
    pub(crate) out: Option<PathBuf>,
    /// List names and roles
    #[arg(long)]
    pub(crate) list: bool,
    /// Remove the token of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) remove: Option<String>,
}

/// Options of `edison controller provision`.
#[derive(Clone, Debug, Args)]
#[command(group(clap::ArgGroup::new("login").required(true)))]
pub(crate) struct ProvisionOptions {
    /// The settings of the controller: its broker and its nodes count
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The broker's management API, which is told what is missing; without it the calls of rabbitmqctl are printed
    #[arg(long, value_name = "URL")]
    pub(crate) management: Option<String>,
    /// A file with the password of EDISON_MANAGEMENT_USER (default: EDISON_MANAGEMENT_PASSWORD)
    #[arg(long, value_name = "FILE", requires = "management")]
    pub(crate) password_file: Option<PathBuf>,
    /// Users log in by certificates, which have their names; they get no passwords
    #[arg(long, group = "login")]
    pub(crate) certificates: bool,
    /// Users log in by passwords; those of new ones are written to DIR/NAME.password
    #[arg(long, value_name = "DIR", group = "login")]
    pub(crate) passwords: Option<PathBuf>,
}

/// Options of `edison authority`.
#[derive(Clone, Debug, Args)]
pub(crate) struct AuthorityOptions {
    /// Where the files are, or will be
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The nodes
    #[arg(value_name = "NAME")]
    pub(crate) nodes: Vec<String>,
    /// A name or address of the broker, beside localhost (may be given several times)
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
}

const QUERY_USAGE: &str = "edison query [OPTIONS] {FILE… | --store DIR | --controller URL} [TEXT]";

const QUERY_EXAMPLES: &str = "\
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
  edison query --store store --engine duckdb --by dst_port                  another engine, from the same files
  edison query --store store --engine spark --engine-url spark://host:7077 -f questions.eq
  edison query --store store --engine clickhouse --engine-url http://127.0.0.1:8123 --by src_addr
  edison query --controller http://127.0.0.1:8080 'select sum(total_byte) last 1h across nodes by sum'

Files are what edison run --flows and --rows write, and any Parquet or CSV file whose columns have
such names. Patterns are expanded. Times without a zone are UTC. A store is what --store of a measurement
keeps: each question is answered from its coarsest rollup that is exact for it, and the answer says which.
With --engine another engine answers from those files, in the same words. With --controller the stores of its probes answer; a probe that is missing is named, with the reason.
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

const DRY_RUN_USAGE: &str = "edison dry-run [OPTIONS] QUERIES.eq {[NAME=]FILE… | --store DIR}";

const DRY_RUN_EXAMPLES: &str = "\
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

const CHECK_EXAMPLES: &str = "\
Examples:
  edison check rules.eq other.eq
  edison check -q 'select src_addr, sum(total_byte) groupby src_addr limit 10'
  edison check chain.eq --set K1=10K --json

Errors go to standard error, --json to standard output.
Exit codes: 0 no errors, warnings at most; 2 errors, or a file that cannot be read.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  edison explain rules.eq
  edison explain chain.eq --set K1=10K --every 1s
  edison explain -q 'select service, rate(total_byte) groupby service every 1min' --json
  edison explain rules.eq --sql spark
  edison explain -q 'select src_addr/24, sum(total_byte) groupby src_addr/24' --sql clickhouse

The SQL is over the table 'rows' that edison run --rows writes, for DuckDB where --sql names no other engine. With --sql the text is
that SQL alone, a statement for each query.
Exit codes: 0 well; 2 errors in the queries, or a file that cannot be read.";

/// Options of `edison explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    #[command(flatten)]
    pub(crate) texts: QueryTextOptions,
    /// Print the queries as SQL of this engine
    #[arg(long, value_name = "ENGINE", value_parser = engine_options::dialect())]
    pub(crate) sql: Option<equery::Dialect>,
}

/// Headings of options. The first four are those of `-h`.
const SOURCE: &str = "Source";
const QUESTION: &str = "Question";
const OUTPUT: &str = "Output";
const LIMITS: &str = "Limits";
const RECORDS: &str = "Flow records";
const MACHINE: &str = "Cores, tables and settings";

const RUN_USAGE: &str = "edison run [OPTIONS] SOURCE… [FILTER]
       edison [OPTIONS] SOURCE… [FILTER]";

const RUN_SHORT_EXAMPLES: &str = "\
Examples:
  edison trace.pcap                              measure a capture
  edison a.pcap b.pcapng.gz 'tcp port 443'       two captures as one, what the filter matches
  edison -i eth0 --every 5s                      an interface, until Ctrl-C
  edison trace.pcap -w flows.parquet             flow records to a file
  edison trace.pcap --by src_addr,dst_port       rank by any fields
  edison trace.pcap -q 'select count(*) where dst_port = 53'

--help lists all options and exit codes.";

const RUN_EXAMPLES: &str = "\
Examples:
  edison trace.pcap                                  measure a capture: short for edison run trace.pcap
  edison run a.pcap b.pcapng.gz 'tcp port 443'       two captures as one, what the filter matches
  tcpdump -w - | edison run -                        a capture from standard input
  edison run -i eth0 --every 5s                      an interface, until Ctrl-C
  edison run --port 0000:01:00.0 --flows f.parquet   a DPDK port, flow records to a file
  edison run --port 0000:01:00.0 --cores 4           the same on four cores, a receive queue each
  edison run --synthetic packets=10M,flows=1M,zipf=1.0
  edison run trace.pcap --every 1min                 also each window of a minute
  edison run trace.pcap --json --every 1Mp           one line of JSON per million packets
  edison run trace.pcap --by src_addr/24 --sort packets --top 5
  edison run trace.pcap --per 1min                   a row of figures per minute
  edison run trace.pcap -q 'select dst_addr, count(src_addr) groupby dst_addr having count(src_addr) > 100'
  edison run -i eth0 -f questions.eq --set K1=10K    a file of queries
  edison run Node1=a.pcap Node2=b.pcap -f chain.eq   two nodes, and queries that start others
  edison run trace.pcap --report - --json            the answers of each window, then the report
  edison run trace.pcap --task heavy-hitters:key=src_addr,share=0.2% --task entropy:memory=256KiB
  edison run trace.pcap --cores 2                    two cores: one reads, one counts
  edison run trace.pcap --design 1x2 --split position --idle-timeout off --active-timeout off     bursts in portions
  edison run -i eth0 --tee 15%                       estimates: another core measures 15% of the packets
  edison run trace.pcap --wire rate=10Gbps,queues=2 --cores 2     what two cores would have lost on a link

Every option can also be set in the environment (EDISON_EVERY=5s) or in a file (--config, the same names); the command line
wins over the environment, and that over the file. Fields have the names of `edison fields`; bytes, packets, srcip, dstip, sport,
dport and proto are understood too.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 ended early with what was measured written, or an output that
lost everything.";

/// Options of `edison run`.
#[derive(Clone, Debug, Args)]
#[command(disable_help_flag = true, override_usage = RUN_USAGE, after_help = RUN_SHORT_EXAMPLES, after_long_help = RUN_EXAMPLES)]
pub(crate) struct RunOptions {
    /// Capture files ('-' is standard input; NAME=FILE is a node), then a filter as tcpdump takes it
    ///
    /// Files are pcap or pcapng, also in gzip or zstd. NAME=FILE is the node of this name; several are measured at once. Words that are no
    /// files begin the filter.
    #[arg(help_heading = SOURCE, display_order = 0, value_name = "SOURCE")]
    pub(crate) words: Vec<String>,
    /// Measure this capture file, as tcpdump names it; may be given several times
    #[arg(help_heading = SOURCE, hide_short_help = true, short, long, value_name = "FILE", env = "EDISON_READ", hide_env = true)]
    pub(crate) read: Vec<String>,
    /// Measure a kernel interface
    ///
    /// May be given several times.
    #[arg(help_heading = SOURCE, short, long, value_name = "NAME", env = "EDISON_INTERFACE", hide_env = true)]
    pub(crate) interface: Vec<String>,
    /// Measure a DPDK port (edison ports lists them)
    ///
    /// A PCI address, or a virtual device such as net_af_packet0,iface=eth0. May be given several times.
    #[arg(help_heading = SOURCE, long, value_name = "DEVARGS", env = "EDISON_PORT", hide_env = true, value_delimiter = ' ')]
    pub(crate) port: Vec<String>,
    /// Measure generated traffic: packets=10M,flows=1M,zipf=1.0,size=64,seed=1
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "SPEC", env = "EDISON_SYNTHETIC", hide_env = true)]
    pub(crate) synthetic: Option<String>,
    /// Let the file's or the generated frames arrive as on a wire: rate=25Mpps or 100Gbps, queues=2, ring=4096,
    /// arrivals=poisson, packets=N or seconds=S, mbufs=N; without a rate nothing is lost
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "SPEC", env = "EDISON_WIRE", hide_env = true)]
    pub(crate) wire: Option<WireSpec>,
    /// Take only what is addressed to this machine
    #[arg(help_heading = SOURCE, hide_short_help = true, long, env = "EDISON_NO_PROMISCUOUS", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) no_promiscuous: bool,
    /// Arguments for DPDK's EAL, in one string
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "ARGS", env = "EDISON_EAL", hide_env = true, allow_hyphen_values = true)]
    pub(crate) eal: Option<String>,
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
    /// Track TCP losses, retransmissions and round-trip times
    #[arg(help_heading = QUESTION, long, env = "EDISON_LOSS", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) loss: bool,
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
    /// Which header of a tunnelled packet is measured
    #[arg(help_heading = QUESTION, hide_short_help = true, long, value_name = "WHICH", env = "EDISON_TUNNEL", hide_env = true, default_value = "outer")]
    pub(crate) tunnel: TunnelChoice,
    /// Write flow records: .csv, .jsonl, .parquet, .ipfix
    ///
    /// The suffix chooses the format; '-' is standard output, as CSV.
    #[arg(help_heading = OUTPUT, short = 'w', long, value_name = "PATH", env = "EDISON_FLOWS", hide_env = true)]
    pub(crate) flows: Option<PathBuf>,
    /// Write the report of the run as JSON; '-' is standard output
    #[arg(help_heading = OUTPUT, long, value_name = "PATH", env = "EDISON_REPORT", hide_env = true)]
    pub(crate) report: Option<PathBuf>,
    /// Serve the page and the API during the run and after it, until Ctrl-C [default: 127.0.0.1:8080]
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "HOST:PORT", env = "EDISON_WEB", hide_env = true, num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:8080", value_parser = quantity::address)]
    pub(crate) web: Option<SocketAddr>,
    /// Print JSON, a line for each answer of a window, instead of tables
    #[arg(help_heading = OUTPUT, long, env = "EDISON_JSON", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Fields of flow records, in this order (see edison fields)
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "LIST", env = "EDISON_FIELDS", hide_env = true, value_parser = completed(StringValueParser::new(), choices::fields), hide_possible_values = true)]
    pub(crate) fields: Option<String>,
    /// Write window rows, what each flow counted in each window, as Parquet; the path ends in .parquet
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "PATH", env = "EDISON_ROWS", hide_env = true)]
    pub(crate) rows: Option<PathBuf>,
    /// Keep window rows and flow records in this folder, with rollups to 1 min and 1 h, for edison query --store and any engine
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "DIR", env = "EDISON_STORE", hide_env = true)]
    pub(crate) store: Option<PathBuf>,
    /// How long the store keeps what, 0 for not at all, and its size [default: rows=1d,flows=7d,1min=30d,1h=1y, and half of the
    /// file system, 100G at the most]
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "KEY=TIME,…", env = "EDISON_STORE_KEEP", hide_env = true)]
    pub(crate) store_keep: Option<Keep>,
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
    /// Folder of the packets that queries capture, as pcapng; without one captures are refused
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "DIR", env = "EDISON_CAPTURES", hide_env = true)]
    pub(crate) captures: Option<PathBuf>,
    /// The most bytes of all captures of the run together
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "SIZE", env = "EDISON_CAPTURE_BYTES", hide_env = true, default_value = "64MiB", value_parser = notation::bytes)]
    pub(crate) capture_bytes: u64,
    /// How much of each captured packet is kept: a number of bytes (1514), or its headers up to the transport header
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "BYTES|headers", env = "EDISON_CAPTURE_SNAP", hide_env = true, default_value = "headers", value_parser = quantity::snap)]
    pub(crate) capture_snap: Snap,
    /// The most packets of a capture in a second
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "N", env = "EDISON_CAPTURE_RATE", hide_env = true, default_value = "10k", value_parser = quantity::capture_rate)]
    pub(crate) capture_rate: u32,
    /// Name of this observation point [default: the host's name]
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "NAME", env = "EDISON_NODE", hide_env = true)]
    pub(crate) node: Option<String>,
    /// Print the usual options, or all of them
    #[arg(help_heading = LIMITS, display_order = 2000, short, long, action = ArgAction::Help)]
    pub(crate) help: Option<bool>,
    /// End after this many received packets (1M)
    #[arg(help_heading = LIMITS, short = 'c', long, value_name = "N", env = "EDISON_PACKETS", hide_env = true, value_parser = notation::count)]
    pub(crate) packets: Option<u64>,
    /// End after this much time of the stream (30s)
    #[arg(help_heading = LIMITS, long, value_name = "TIME", env = "EDISON_DURATION", hide_env = true, value_parser = notation::duration)]
    pub(crate) duration: Option<Duration>,
    /// Cores to measure on: how many (2) or which (0,2-3)
    #[arg(help_heading = LIMITS, long, value_name = "N|LIST", env = "EDISON_CORES", hide_env = true)]
    pub(crate) cores: Option<Cores>,
    /// The most memory for tables and queues
    ///
    /// The default is half of the machine's or of the control group's.
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", env = "EDISON_MEMORY", hide_env = true, value_parser = notation::bytes)]
    pub(crate) memory: Option<u64>,
    /// End when nothing arrives for this long
    #[arg(help_heading = LIMITS, hide_short_help = true, long, value_name = "TIME", env = "EDISON_IDLE_EXIT", hide_env = true, value_parser = notation::duration)]
    pub(crate) idle_exit: Option<Duration>,
    /// The most flows at a time; packets of more are counted in the record "other" [default: as memory allows]
    #[arg(help_heading = LIMITS, hide_short_help = true, long, value_name = "N", env = "EDISON_MAX_FLOWS", hide_env = true, value_parser = notation::count)]
    pub(crate) max_flows: Option<u64>,
    /// End a record when no packet came for longer than this, or off
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "TIME", env = "EDISON_IDLE_TIMEOUT", hide_env = true, default_value = "30s", value_parser = notation::timeout_ns)]
    pub(crate) idle_timeout: u64,
    /// Begin a new record for a flow that is this old, or off
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "TIME", env = "EDISON_ACTIVE_TIMEOUT", hide_env = true, default_value = "30min", value_parser = notation::timeout_ns)]
    pub(crate) active_timeout: u64,
    /// Put both directions of a flow into one record (RFC 5103), and show both of each conversation
    #[arg(help_heading = RECORDS, hide_short_help = true, long, env = "EDISON_BIFLOW", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) biflow: bool,
    /// Statistics of the interleaving gap, the frames received between two packets of a flow: mean,stddev,p50,p99.9
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "LIST", env = "EDISON_GAP", hide_env = true, value_parser = completed(str::parse::<StatisticSpec>, choices::statistics), hide_possible_values = true)]
    pub(crate) gap: Option<StatisticSpec>,
    /// Statistics of packet sizes (layer-3 bytes), as --gap
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "LIST", env = "EDISON_PACKET_SIZE", hide_env = true, value_parser = completed(str::parse::<StatisticSpec>, choices::statistics), hide_possible_values = true)]
    pub(crate) packet_size: Option<StatisticSpec>,
    /// Statistics of the time between two packets of a flow (nanoseconds), as --gap
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "LIST", env = "EDISON_INTER_ARRIVAL", hide_env = true, value_parser = completed(str::parse::<StatisticSpec>, choices::statistics), hide_possible_values = true)]
    pub(crate) inter_arrival: Option<StatisticSpec>,
    /// How cores share the work: rss, sync, async, pipeline, cooperative, or NxM (N queues with M workers each)
    /// [default: rss where the source has a queue for each core, else async]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "DESIGN", env = "EDISON_DESIGN", hide_env = true, value_parser = completed(str::parse::<Design>, choices::designs), hide_possible_values = true)]
    pub(crate) design: Option<Design>,
    /// Measure a sample: the core that receives hands over each packet with this probability (15%, 0.15) to another one, and looks at
    /// no other packet; answers are estimates [default design: async]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "SHARE", env = "EDISON_TEE", hide_env = true, value_parser = quantity::share)]
    pub(crate) tee: Option<Share>,
    /// Keep loss below a bound, by changing the share of the packets that is measured, the memory of tasks and the workers in use
    /// from window to window: loss=0.001% [default design: async]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "loss=SHARE", env = "EDISON_ADAPT", hide_env = true, value_parser = clap::value_parser!(Bound))]
    pub(crate) adapt: Option<Bound>,
    /// How a receiver shares a burst out among its workers: hash (a flow stays on one core), or position (portions in turn;
    /// flows are merged when a window closes, and timeouts must be off)
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "hash|position", env = "EDISON_SPLIT", hide_env = true, default_value_t, value_parser = completed(str::parse::<Split>, choices::splits), hide_possible_values = true)]
    pub(crate) split: Split,
    /// Where flows are kept: separate (each core for itself), or shared (in tables of a fixed size that all cores update;
    /// timeouts must be off)
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "separate|shared", env = "EDISON_STATE", hide_env = true, default_value_t, value_parser = completed(str::parse::<State>, choices::states), hide_possible_values = true)]
    pub(crate) state: State,
    /// Receive queues of each DPDK port [default: one for each receiver; what the port's arguments say where they do]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_QUEUES", hide_env = true, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub(crate) queues: Option<u16>,
    /// The most frames taken at once
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_BURST", hide_env = true, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) burst: u16,
    /// Receive descriptors of each queue of a DPDK port; packets that may wait between a receiver and each worker [default: 4096;
    /// 16384, with --adapt 262144]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_RING", hide_env = true)]
    pub(crate) ring: Option<u16>,
    /// Mbufs of the pool that each receive queue of a DPDK port has
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_MEMPOOL", hide_env = true, default_value = "16383", value_parser = notation::count)]
    pub(crate) mempool: u64,
    /// Take a paper's settings of --cores, --design, --burst, --ring and --mempool: wu, ares, flowatcher; what is given in addition
    /// it wins
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "NAME", env = "EDISON_PRESET", hide_env = true, value_parser = completed(StringValueParser::new(), choices::presets), hide_possible_values = true)]
    pub(crate) preset: Option<String>,
    /// Seed of the tables' hash [default: random]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_SEED", hide_env = true)]
    pub(crate) seed: Option<u64>,
    /// Take options from a TOML file
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "FILE", env = "EDISON_CONFIG", hide_env = true)]
    pub(crate) config: Option<PathBuf>,
    /// Routers that send flow records, in the place of sources of frames.
    #[arg(skip)]
    pub(crate) routers: Option<RouterOptions>,
    /// The length of the windows of queries that do not say it, where the run's are shorter: the queries tell.
    #[arg(skip)]
    pub(crate) usual_every: Option<Every>,
    /// `--json` has the answers of windows that nothing asks for by a length of its own: otherwise a capture is answered as a whole.
    #[arg(skip)]
    pub(crate) json_windows: bool,
}

impl RunOptions {
    /// Whether a source goes on without end.
    pub(crate) fn is_live(&self) -> bool {
        !self.interface.is_empty() || !self.port.is_empty() || self.routers.is_some()
    }
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  TZ=UTC nfdump -r nfcapd.202611260000 -6 -o csv > day.csv; edison import day.csv --store flows --node Router1
  edison import flows.ipfix --store flows --every 1min
  edison import 'Node1=a/*.parquet' 'Node2=b/*.parquet' --store flows
  edison query --store flows --by src_addr

A record counts in the window of its last packet. The times of nfdump's CSV are taken as UTC. The same file twice counts twice.
What cannot be taken is said with its file and line. Without --store-keep nothing is dropped because of its age.
Exit codes: 0 well; 1 a fault while running; 2 wrong usage; 3 some of it could not be taken, or Ctrl-C.";

/// Options of `edison import`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ImportOptions {
    /// Files of flow records or window rows, or patterns of their names; NAME=FILE is of the node of this name
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// The store, a folder; it is begun where there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// The node of all files [default: what they tell, else 'unknown']
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Length of the windows of flow records; window rows keep theirs [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = notation::duration)]
    pub(crate) every: Option<Duration>,
    /// How long the store keeps what, as edison run has it [default: for ever]
    #[arg(long, value_name = "KEY=TIME,…")]
    pub(crate) store_keep: Option<Keep>,
    /// The most memory for rows that wait for their windows [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = notation::bytes)]
    pub(crate) memory: Option<u64>,
}

const COLLECT_EXAMPLES: &str = "\
Examples:
  edison collect ipfix://:4739                             all routers that send to this port, until Ctrl-C
  edison collect netflow://:2055 --from 192.0.2.0/24       routers of a network alone
  edison collect ipfix://:4739 --sampling 1000             routers that do not tell their sampling rate have 1:1000
  edison collect ipfix://:4739 --every 1min --wait 10s --store /var/lib/edison/store
  edison collect ipfix://:4739 -q 'select src_addr, sum(total_byte) groupby src_addr limit 10' --json
  edison collect --config node.toml                        as a node of a deployment, whose file has collect = \"ipfix://:4739\"

All three versions are received at either scheme, over UDP. A record counts in the window of its last packet while that is open, else
in the one of the clock. docs/routers.md has all.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 an output that lost everything.";

/// Options of `edison collect`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CollectOptions {
    /// Where to listen: ipfix://HOST:PORT or netflow://HOST:PORT; without HOST at all addresses
    #[arg(value_name = "URL", required_unless_present = "config")]
    pub(crate) url: Option<Listener>,
    /// Only routers of these networks or addresses: 192.0.2.0/24,2001:db8::1 [default: all]
    #[arg(help_heading = SOURCE, long, value_name = "PREFIX,…", value_delimiter = ',')]
    pub(crate) from: Vec<Network>,
    /// Routers that do not tell their sampling rate count one packet of N
    #[arg(help_heading = SOURCE, long, value_name = "N", value_parser = quantity::sampling)]
    pub(crate) sampling: Option<Rate>,
    /// Keep a window open for so long after its end, for records that come late
    #[arg(help_heading = SOURCE, long, value_name = "TIME", value_parser = notation::duration)]
    pub(crate) wait: Option<Duration>,
    /// Length of a window [default: 10s]
    #[arg(help_heading = QUESTION, long, value_name = "TIME", value_parser = quantity::every, conflicts_with = "config")]
    pub(crate) every: Option<Every>,
    /// Lines in a ranking [default: 10]
    #[arg(help_heading = QUESTION, short = 'n', long, value_name = "N", value_parser = quantity::lines, conflicts_with = "config")]
    pub(crate) top: Option<usize>,
    /// What a flow is: fields (src_addr/24/64,dst_port) [default: the 5-tuple]
    #[arg(help_heading = QUESTION, long, value_name = "FIELDS", value_parser = completed(names::key, choices::key_fields), hide_possible_values = true, conflicts_with = "config")]
    pub(crate) key: Option<KeySpec>,
    /// Ask in Equery; may be given several times
    #[arg(help_heading = QUESTION, short, long, value_name = "TEXT", conflicts_with = "config")]
    pub(crate) query: Vec<String>,
    /// Ask what is in a file of Equery; '-' is standard input
    #[arg(help_heading = QUESTION, short, long, value_name = "FILE", conflicts_with = "config")]
    pub(crate) file: Vec<PathBuf>,
    /// Rank by these fields, as src_addr/24,dst_port: short for a query
    #[arg(help_heading = QUESTION, long, value_name = "FIELDS", conflicts_with = "config")]
    pub(crate) by: Option<String>,
    /// What --by orders by, the largest first: bytes, packets, flows [default: bytes]
    #[arg(help_heading = QUESTION, long, value_name = "ITEM", conflicts_with = "config")]
    pub(crate) sort: Option<String>,
    /// A variable of queries, as K1=10K
    #[arg(help_heading = QUESTION, long, value_name = "NAME=VALUE", value_parser = variable, conflicts_with = "config")]
    pub(crate) set: Vec<(String, String)>,
    /// Write flow records: .csv, .jsonl, .parquet, .ipfix
    #[arg(help_heading = OUTPUT, short = 'w', long, value_name = "PATH", conflicts_with = "config")]
    pub(crate) flows: Option<PathBuf>,
    /// Send flow records on to an IPFIX collector: ipfix://HOST:PORT
    #[arg(help_heading = OUTPUT, long, value_name = "URL", conflicts_with = "config")]
    pub(crate) export: Option<Collector>,
    /// Write window rows as Parquet; the path ends in .parquet
    #[arg(help_heading = OUTPUT, long, value_name = "PATH", conflicts_with = "config")]
    pub(crate) rows: Option<PathBuf>,
    /// Keep window rows and flow records in this folder, for edison query --store
    #[arg(help_heading = OUTPUT, long, value_name = "DIR", conflicts_with = "config")]
    pub(crate) store: Option<PathBuf>,
    /// How long the store keeps what, as edison run has it
    #[arg(help_heading = OUTPUT, long, value_name = "KEY=TIME,…", conflicts_with = "config")]
    pub(crate) store_keep: Option<Keep>,
    /// Write the report of the run as JSON; '-' is standard output
    #[arg(help_heading = OUTPUT, long, value_name = "PATH", conflicts_with = "config")]
    pub(crate) report: Option<PathBuf>,
    /// Serve the page and the API during the run and after it, until Ctrl-C [default: 127.0.0.1:8080]
    #[arg(help_heading = OUTPUT, long, value_name = "HOST:PORT", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:8080", value_parser = quantity::address, conflicts_with = "config")]
    pub(crate) web: Option<SocketAddr>,
    /// Print JSON, a line for each answer of a window, instead of tables
    #[arg(help_heading = OUTPUT, long, conflicts_with = "config")]
    pub(crate) json: bool,
    /// Name of this node [default: the host's name]
    #[arg(help_heading = OUTPUT, long, value_name = "NAME", conflicts_with = "config")]
    pub(crate) node: Option<String>,
    /// End after this much time (30s)
    #[arg(help_heading = LIMITS, long, value_name = "TIME", value_parser = notation::duration, conflicts_with = "config")]
    pub(crate) duration: Option<Duration>,
    /// End when no datagram arrives for this long
    #[arg(help_heading = LIMITS, long, value_name = "TIME", value_parser = notation::duration, conflicts_with = "config")]
    pub(crate) idle_exit: Option<Duration>,
    /// The most memory for rows and queues [default: half of the machine's]
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", value_parser = notation::bytes, conflicts_with = "config")]
    pub(crate) memory: Option<u64>,
    /// Be a node of a deployment: the settings of edison probe, a TOML file, with the keys collect, from, sampling and wait
    #[arg(help_heading = MACHINE, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Values of `--tunnel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TunnelChoice {
    /// The outermost
    Outer,
    /// The deepest of the first four
    Inner,
}

const GENERATE_EXAMPLES: &str = "\
Examples:
  edison generate t.pcap packets=2M,flows=300k,zipf=1.0
  edison generate t.pcap packets=2M,flows=300k,zipf=1.0,plant=flood/scan/elephant,snap=96
  edison generate t.pcap packets=2M,tcp=handshake,plant=loss    whole connections, some with losses
  edison generate t.pcap --path hops=3,lossy=2,loss=1%          t.tap0.pcap to t.tap3.pcap, at each hop
  edison generate -i eth0 packets=10M,flows=1M --rate 100kpps --truth sent.json
  edison generate --port 0000:01:00.0 packets=1G,size=64/1518 --rate 10Gbps

The truth is written to t.pcap.truth.json: totals, the planted events, the largest flows; of a path, what each tap
must find. Out of an interface or a port it is that of what was sent, also after Ctrl-C.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 ended by Ctrl-C.";

/// Options of `edison generate`.
#[derive(Debug, Args)]
#[command(after_help = GENERATE_EXAMPLES)]
pub(crate) struct GenerateOptions {
    /// The capture file to write (not with -i and --port), then what to generate
    #[arg(value_name = "FILE] [SPEC", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Send out of a kernel interface
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["port", "path_of"])]
    pub(crate) interface: Option<String>,
    /// Send out of a DPDK port: a PCI address, or a virtual device such as net_af_packet0,iface=eth0
    #[arg(long, value_name = "DEVARGS", conflicts_with = "path_of")]
    pub(crate) port: Option<String>,
    /// Arguments for DPDK's EAL, in one string
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true, requires = "port")]
    pub(crate) eal: Option<String>,
    /// How fast to send: 100kpps, 1Gbps (with preamble, check sequence and gap), times (as the time stamps say), or max
    #[arg(long, value_name = "RATE", default_value = "max")]
    pub(crate) rate: Pacing,
    /// Where the truth goes [default: next to the capture; of what was sent, nowhere]
    #[arg(long, value_name = "PATH")]
    pub(crate) truth: Option<PathBuf>,
    /// Print the truth as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Instead, TCP connections along a path of hops, at most one of which loses packets, as taps between the hops see them
    #[arg(long = "path", value_name = "SPEC")]
    pub(crate) path_of: Option<String>,
}
