//! The connections of a node to the controller of its deployment.

#[cfg(feature = "amqp")]
mod remote;

use super::MeasurementRoute;
use super::measurement::Measurement;
use crate::exit::Failure;
use crate::lacking::{AMQP, lacks};
use crate::spec::{LinkOptions, RunSpec};

/// Connects a node to the controller of its deployment.
pub(super) type Connect = Box<dyn Fn(&RunSpec, Measurement) -> Result<Box<dyn MeasurementRoute>, Failure>>;

/// Checks how a controller is reached.
type ConnectionCheck = fn(&LinkOptions) -> Result<Connect, Failure>;

/// The ways to reach a controller; the feature `amqp` adds one.
const CONNECTIONS: &[ConnectionCheck] = &[
    #[cfg(feature = "amqp")]
    crate::assembly::connections::remote::connection,
];

/// Returns what connects a node of a deployment, where this build has it.
pub(super) fn find(link: &LinkOptions) -> Result<Connect, Failure> {
    CONNECTIONS.first().ok_or_else(|| lacks("edison probe", &AMQP))?(link)
}
