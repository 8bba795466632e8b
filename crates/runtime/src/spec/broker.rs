//! Options of the broker that connects a deployment.

use super::DEPLOYMENT;
use clap::Args;
use std::path::PathBuf;

/// Where the broker is, and who connects.
#[derive(Clone, Debug, Default, Args)]
pub struct BrokerOptions {
    /// The broker: amqps://USER@HOST, or amqp:// on this machine
    #[arg(help_heading = DEPLOYMENT, long, value_name = "URL", env = "EDISON_BROKER", hide_env = true)]
    pub(crate) broker: Option<String>,
    /// A file with the password [default: EDISON_BROKER_PASSWORD]
    #[arg(help_heading = DEPLOYMENT, long, value_name = "FILE", env = "EDISON_BROKER_PASSWORD_FILE", hide_env = true)]
    pub(crate) password_file: Option<PathBuf>,
    /// The authority that signed the broker's certificate (PEM)
    #[arg(help_heading = DEPLOYMENT, long, value_name = "FILE", env = "EDISON_BROKER_CA", hide_env = true)]
    pub ca: Option<PathBuf>,
    /// The certificate that says who connects (PEM)
    #[arg(help_heading = DEPLOYMENT, long, value_name = "FILE", env = "EDISON_BROKER_CERTIFICATE", hide_env = true)]
    pub(crate) certificate: Option<PathBuf>,
    /// The key of that certificate, which only its owner may read
    #[arg(help_heading = DEPLOYMENT, long, value_name = "FILE", env = "EDISON_BROKER_KEY_FILE", hide_env = true)]
    pub(crate) key_file: Option<PathBuf>,
}
