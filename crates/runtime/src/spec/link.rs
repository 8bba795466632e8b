//! Options of a node of a deployment.

use super::{BrokerOptions, DEPLOYMENT};
use clap::Args;
use std::path::PathBuf;

/// How a node reaches its controller, and what it keeps until that has it.
#[derive(Clone, Debug, Args)]
pub struct LinkOptions {
    #[command(flatten)]
    pub(crate) broker: BrokerOptions,
    /// The most bytes of windows that are kept while the broker is away, 1MiB at least
    #[arg(help_heading = DEPLOYMENT, long, value_name = "SIZE", env = "EDISON_SPOOL", hide_env = true, default_value = "64MiB", value_parser = notation::bytes)]
    pub(crate) spool: u64,
    /// Keep them in this file too, so that what was not delivered is sent after a kill or a power cut
    #[arg(help_heading = DEPLOYMENT, long, value_name = "FILE", env = "EDISON_SPOOL_FILE", hide_env = true)]
    pub(crate) spool_file: Option<PathBuf>,
}
