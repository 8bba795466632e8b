//! The parts of a deployment that this build has.

use crate::commands::{AuthorityOptions, CollectOptions, ControllerOptions, ProbeOptions};
use crate::exit::Failure;
use crate::lacking::{AMQP, lacks};
use std::process::ExitCode;

/// The commands of a deployment.
pub(crate) struct Deployments {
    /// `edison probe`.
    pub(crate) probe: fn(&ProbeOptions) -> Result<ExitCode, Failure>,
    /// `edison controller`.
    pub(crate) controller: fn(&ControllerOptions) -> Result<ExitCode, Failure>,
    /// `edison authority`.
    pub(crate) authority: fn(&AuthorityOptions) -> Result<ExitCode, Failure>,
    /// `edison collect --config`.
    pub(crate) collect: fn(&CollectOptions) -> Result<ExitCode, Failure>,
}

/// The feature `amqp` adds one.
const DEPLOYMENTS: &[Deployments] = &[
    #[cfg(feature = "amqp")]
    Deployments {
        probe: crate::deployment::probe::run,
        controller: crate::deployment::controller::run,
        authority: crate::deployment::authority::run,
        collect: crate::deployment::probe::collect,
    },
];

/// Returns the commands, which `asked` needs.
pub(crate) fn find(asked: &str) -> Result<&'static Deployments, Failure> {
    DEPLOYMENTS.first().ok_or_else(|| lacks(asked, &AMQP))
}
