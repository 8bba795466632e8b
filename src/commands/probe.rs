//! `edison probe`: measures as a node of a deployment.

use clap::Args;
use runtime::spec::{LinkOptions, Listener, RunSpec, SOURCE};

pub(super) const PROBE_EXAMPLES: &str = "\
Example of a file:
  broker = \"amqp://edison@127.0.0.1:5672\"    # and password-file, see below
  node = \"Node1\"
  interface = [\"eth0\"]                       # or port = [\"0000:01:00.0\"]
  every = \"1s\"                               # as the controller's
  loss = true

The password is in 'password-file' or EDISON_BROKER_PASSWORD. The probe measures while the broker
is away, keeps as many windows as 'spool' has room for, and connects again by itself. The command
line wins over the environment, and that over the file. SIGTERM or Ctrl-C ends it.
Exit codes: 0 well, 1 a fault while running, 2 wrong settings.";

/// Options of a run that a probe refuses, each with its reason (docs/refused.md). Its help leaves them out.
pub(super) const REFUSED: [&str; 23] = [
    "words",
    "read",
    "synthetic",
    "wire",
    "top",
    "task",
    "query",
    "file",
    "by",
    "sort",
    "per",
    "set",
    "json",
    "resolve",
    "packets",
    "duration",
    "idle_exit",
    "tee",
    "alertmanager",
    "alertmanager_label",
    "alertmanager_page",
    "alertmanager_credentials",
    "alertmanager_ca",
];

/// Options of `edison probe`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProbeOptions {
    #[command(flatten)]
    pub(crate) link: LinkOptions,
    /// Receive flow records of routers in the place of packets, as edison collect does: ipfix://:4739
    #[arg(help_heading = SOURCE, long, value_name = "URL", env = "EDISON_COLLECT", hide_env = true)]
    pub(crate) collect: Option<Listener>,
    #[command(flatten)]
    pub(crate) spec: RunSpec,
}

impl ProbeOptions {
    /// Returns what is to be run.
    pub(crate) fn into_spec(self) -> RunSpec {
        let Self { link, collect, mut spec } = self;
        spec.routers.listener = collect;
        spec.link = Some(link);
        spec
    }
}
