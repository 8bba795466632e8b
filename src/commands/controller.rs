//! `edison controller`: joins many probes.

use clap::Args;
use clap::Subcommand;
use deployment::options::{ControllerSettings, ProvisionOptions, TokenOptions};
use std::path::PathBuf;

pub(super) const CONTROLLER_EXAMPLES: &str = "\
Example of a file:
  broker = \"amqp://edison@127.0.0.1:5672\"    # and password-file, see below
  nodes = [\"Node1\", \"Node2\"]
  every = \"1s\"                               # as the probes'
  queries = [\"examples/locate.eq\"]
  state = \"/var/lib/edison/controller.db\"

The password is in 'password-file' or EDISON_BROKER_PASSWORD. The command line wins over the
environment, and that over the file. docs/deployment.md has more about each.
SIGTERM or Ctrl-C ends it; what it knows is in 'state', and it continues from there.
Exit codes: 0 well, 1 a fault while running, 2 wrong settings.";

pub(super) const PROVISION_EXAMPLES: &str = "\
Examples:
  edison controller provision --config controller.toml --certificates > setup.sh
      then sh setup.sh, at the broker
  EDISON_MANAGEMENT_USER=admin edison controller provision --config controller.toml \\
      --certificates --management https://broker:15671 --password-file admin.password
  edison controller provision --config controller.toml --passwords secrets \\
      --management http://127.0.0.1:15672

Each node gets a user of its name, who may send under that name, read its own tasks, and nothing
else. It may be run again: what is there stays, users keep their passwords, rights become what they
should be. What is there with other properties is named and not changed. Passwords are never
printed.
Exit codes: 0 well; 1 something differs, or the API refuses or does not answer; 2 wrong usage or
settings.";

pub(super) const TOKEN_EXAMPLES: &str = "\
Examples:
  edison controller token alice --role view --file tokens               prints a token, this once
  edison controller token ci --role run --file tokens --out ci.token    to a file of mode 0600
  edison controller token --list --file tokens
  edison controller token --remove alice --file tokens

The file has names, roles and argon2 hashes; 'tokens' in the settings of a controller names it. A
controller that runs takes changes within a second. A token is shown with --token-file,
EDISON_TOKEN, or on the page.
Roles: view reads all but captured packets; run also adds and cancels queries and fetches captured
packets; admin is for what else changes a deployment, which nothing does over HTTP yet.
Exit codes: 0 well; 1 a fault; 2 wrong usage: a name that is taken or not there, a file that others
may read.";

/// Options of `edison controller`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ControllerOptions {
    /// Take options from a TOML file, by the same names
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: ControllerSettings,
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
