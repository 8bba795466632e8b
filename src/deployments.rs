//! The parts of a deployment that this build has.

use crate::commands::{AuthorityOptions, ControllerOptions};
use runtime::exit::Failure;
use runtime::lacking::{AMQP, lacks};
use std::process::ExitCode;

/// The commands of a deployment.
pub(crate) struct Deployments {
    /// `edison controller`.
    pub(crate) controller: fn(&ControllerOptions) -> Result<ExitCode, Failure>,
    /// `edison authority`.
    pub(crate) authority: fn(&AuthorityOptions) -> Result<ExitCode, Failure>,
}

/// The feature `amqp` adds one.
const DEPLOYMENTS: &[Deployments] = &[
    #[cfg(feature = "amqp")]
    Deployments {
        controller: crate::deployment::controller::run,
        authority: crate::deployment::authority::run,
    },
];

/// Returns the commands, which `asked` needs.
pub(crate) fn find(asked: &str) -> Result<&'static Deployments, Failure> {
    DEPLOYMENTS.first().ok_or_else(|| lacks(asked, &AMQP))
}
