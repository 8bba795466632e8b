//! Commands that ask a controller, or a run with a page.

use super::ActionOptions;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use model::{Event, EventKind};
use runtime::quantity;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const CLIENT_EXAMPLES: &str = "\
Examples:
  edison nodes
  edison nodes --controller https://monitor.example.org:8443 --token-file ~/.edison-token
  EDISON_CONTROLLER=https://10.0.0.1:8443 EDISON_TOKEN=… edison nodes --ca ca.pem

Exit codes: 0 well; 1 the controller cannot be reached; 2 wrong usage, or the controller refuses;
of edison nodes, 3 if a node is not up.";

pub(super) const ADD_EXAMPLES: &str = "\
Examples:
  edison add locate.eq
  edison add -q 'syn: select dst_addr, count(*) where tcp_flags = 2 groupby dst_addr every 10s'

Exit codes: 0 well; 1 the controller cannot be reached; 2 errors in the queries, or a name that is
taken.";

pub(super) const WATCH_EXAMPLES: &str = "\
Examples:
  edison watch                        a line for each event
  edison watch --answers              the answers too, as tables
  edison watch --json | jq .query     events as JSON, one on a line
  edison watch --kind fired --exec 'python3 examples/pscheduler.py points.json'
  edison watch --query before --webhook https://hooks.example.org/edison

With --exec or --webhook, what fails or is skipped is said and counted. Ctrl-C ends the programs
that run, and tells the counts; a second Ctrl-C kills those that do not end.
Exit codes: 0 ended by Ctrl-C; 1 the controller cannot be reached, or its stream has ended; 2 wrong
usage, or the controller refuses; 3 ended by Ctrl-C after something failed or was skipped.";

pub(super) const TOP_EXAMPLES: &str = "\
Examples:
  edison top                          the API at http://127.0.0.1:8080
  edison top http://127.0.0.1:9000    a run with --web 127.0.0.1:9000
  edison top https://monitor.example.org:8443 --token-file ~/.edison-token

Keys: 1, 2, 3 or Tab for the views, j and k or arrows to choose, Enter for details, / to filter,
? for help, q to quit.
What does not answer any more is said, and asked again every second. NO_COLOR leaves colours out.
Exit codes: 0 well; 1 the controller cannot be reached at first; 2 wrong usage, or there is no
terminal.";

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
    /// Of this query only; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) query: Vec<String>,
    /// Of this node only; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Vec<String>,
    /// Events of this kind only, as fired or resolved; may be given several times
    #[arg(long, value_name = "KIND", value_parser = event_kind())]
    pub(crate) kind: Vec<EventKind>,
    #[command(flatten)]
    pub(crate) actions: ActionOptions,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

impl WatchOptions {
    /// Returns whether not all answers and events are shown.
    pub(crate) fn selects_some(&self) -> bool {
        !(self.query.is_empty() && self.node.is_empty() && self.kind.is_empty())
    }

    /// Returns whether an answer or an event of this query and node is shown.
    pub(crate) fn selects(&self, query: &str, node: Option<&str>) -> bool {
        let is_asked = |names: &[String], name: Option<&str>| {
            names.is_empty() || names.iter().any(|asked| Some(asked.as_str()) == name)
        };
        is_asked(&self.query, Some(query)) && is_asked(&self.node, node)
    }

    /// Returns whether an event is shown.
    pub(crate) fn selects_event(&self, event: &Event) -> bool {
        let is_asked = self.kind.is_empty() || self.kind.contains(&event.kind);
        is_asked && self.selects(&event.query, event.node.as_deref())
    }
}

/// The kinds of events, by the names of their JSON.
fn event_kind() -> impl TypedValueParser<Value = EventKind> {
    PossibleValuesParser::new(EventKind::ALL.map(EventKind::name)).map(|name| {
        let kind = EventKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.expect("the parser takes names of kinds alone")
    })
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
