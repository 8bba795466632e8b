//! The transports that carry messages.

use crate::link_state::LinkState;
use crate::message::{FromProbe, ToProbe};
use crate::message_id::MessageId;
use model::view::Spool;
use std::collections::BTreeMap;
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

/// A probe's connection to its controller. Messages arrive in the order in which they were sent, each once.
pub trait ProbeLink: fmt::Debug + Send + Sync {
    /// Sends a message, or keeps it until it can be sent. Does not wait for either.
    ///
    /// # Errors
    /// If it can never arrive.
    fn send(&self, message: FromProbe) -> Result<(), Disconnected>;

    /// The next message, or `None` if none comes for so long.
    ///
    /// # Errors
    /// If none can come any more.
    fn receive(&self, wait: Duration) -> Result<Option<ToProbe>, Disconnected>;

    /// Waits until all that was sent has been delivered, for so long at most. Returns whether it has.
    fn flush(&self, wait: Duration) -> bool;

    /// Returns the state of the connection: whether it carries messages now.
    fn state(&self) -> LinkState;

    /// Returns what has not been delivered.
    fn spool(&self) -> Spool;
}

/// A message of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedMessage {
    /// The probe's number.
    pub node: usize,
    /// The identifier of the message; `None` where none comes twice or a second one does no harm.
    pub id: Option<MessageId>,
    /// The message.
    pub message: FromProbe,
}

/// A controller's connections to its probes, which have numbers.
pub trait ControllerLink: fmt::Debug + Send {
    /// Sends a message to a probe, or keeps it until it can be sent. Does not wait for either. A task list takes the place of an
    /// earlier one that is kept.
    ///
    /// # Errors
    /// If it can never arrive.
    fn send(&self, node: usize, message: ToProbe) -> Result<(), Disconnected>;

    /// The next message, or `None` if none comes for so long.
    ///
    /// # Errors
    /// If none can come any more.
    fn receive(&self, wait: Duration) -> Result<Option<ReceivedMessage>, Disconnected>;

    /// Acknowledges that all that was received so far is stored. Until then a transport that keeps messages delivers them again, to a controller
    /// that takes over. To be called often, and where nothing comes: what is not acknowledged is limited, and at the limit nothing more is
    /// received.
    fn acknowledge(&self);

    /// Returns the number of messages that were not handed out, by the name of the reason. Reasons are those of [`crate::MessageRefusal`], and
    /// `doubled`.
    fn refused(&self) -> BTreeMap<&'static str, u64>;

    /// Returns the number of these messages that came as a probe's own, whatever they said of their sender.
    fn refused_of(&self, node: usize) -> BTreeMap<&'static str, u64>;

    /// Returns the state of the connection: whether it carries messages now.
    fn state(&self) -> LinkState;
}
