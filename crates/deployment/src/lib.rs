//! The controller of a deployment, and the commands that prepare one: rights at the broker, tokens and certificates.

pub mod options;

#[cfg(feature = "amqp")]
mod authority;
#[cfg(feature = "amqp")]
mod controller;
#[cfg(feature = "amqp")]
mod file_name;

use options::{AuthorityOptions, ControllerSettings, ProvisionOptions, TokenOptions};
use runtime::exit::Failure;
use runtime::lacking::{AMQP, lacks};
use std::process::ExitCode;

/// The commands of a deployment.
pub struct Deployments {
    /// `edison controller`.
    pub controller: fn(&ControllerSettings) -> Result<ExitCode, Failure>,
    /// `edison controller token`.
    pub token: fn(&TokenOptions) -> Result<ExitCode, Failure>,
    /// `edison controller provision`.
    pub provision: fn(&ProvisionOptions, ControllerSettings) -> Result<ExitCode, Failure>,
    /// `edison authority`.
    pub authority: fn(&AuthorityOptions) -> Result<ExitCode, Failure>,
}

/// The feature `amqp` adds one.
const DEPLOYMENTS: &[Deployments] = &[
    #[cfg(feature = "amqp")]
    Deployments {
        controller: controller::run,
        token: controller::token::run,
        provision: controller::provision::run,
        authority: authority::run,
    },
];

/// Returns the commands, which `asked` needs.
///
/// # Errors
/// This build lacks them.
pub fn find(asked: &str) -> Result<&'static Deployments, Failure> {
    DEPLOYMENTS.first().ok_or_else(|| lacks(asked, &AMQP))
}
