//! What carries messages.

use crate::message::{FromProbe, ToProbe};
use std::fmt;
use std::time::Duration;

/// The other side has left, and does not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnected;

impl fmt::Display for Disconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other side of the connection has left")
    }
}

impl std::error::Error for Disconnected {}

/// A probe's connection to its controller. Messages arrive in the order in which they were sent.
pub trait ProbeLink: fmt::Debug + Send + Sync {
    /// Sends a message.
    ///
    /// # Errors
    /// If it can never arrive.
    fn send(&self, message: FromProbe) -> Result<(), Disconnected>;

    /// The next message, or `None` if none comes for so long.
    ///
    /// # Errors
    /// If none can come any more.
    fn receive(&self, wait: Duration) -> Result<Option<ToProbe>, Disconnected>;
}

/// A controller's connections to its probes, which have numbers.
pub trait ControllerLink: fmt::Debug + Send {
    /// Sends a message to a probe.
    ///
    /// # Errors
    /// If it can never arrive.
    fn send(&self, node: usize, message: ToProbe) -> Result<(), Disconnected>;

    /// The next message and its sender, or `None` if none comes for so long.
    ///
    /// # Errors
    /// If none can come any more.
    fn receive(&self, wait: Duration) -> Result<Option<(usize, FromProbe)>, Disconnected>;
}
