//! The connections of a node to the controller of its deployment.

#[cfg(feature = "amqp")]
mod remote;

use super::Route;
use super::measurement::Measurement;
use crate::exit::Failure;
use crate::lacking::{AMQP, lacks};
use crate::spec::{LinkOptions, Spec};

/// Connects a node to the controller of its deployment.
pub(super) type Connect = Box<dyn Fn(&Spec, Measurement) -> Result<Box<dyn Route>, Failure>>;

/// Checks how a controller is reached.
type Check = fn(&LinkOptions) -> Result<Connect, Failure>;

/// The ways to reach a controller; the feature `amqp` adds one.
const CONNECTIONS: &[Check] = &[
    #[cfg(feature = "amqp")]
    crate::assembly::connections::remote::connection,
];

/// Returns what connects a node of a deployment, where this build has it.
pub(super) fn find(link: &LinkOptions) -> Result<Connect, Failure> {
    CONNECTIONS.first().ok_or_else(|| lacks("edison probe", &AMQP))?(link)
}
