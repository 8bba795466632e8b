//! `edison probe`: measures as a node of a deployment.

use clap::Args;
use std::path::PathBuf;

pub(super) const PROBE_EXAMPLES: &str = "\
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

/// Options of `edison probe`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProbeOptions {
    /// The settings, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}
