//! Connections over an AMQP 0-9-1 broker: RabbitMQ 3.10 or later.
//!
//! ```text
//! probe ─▶ exchange edison.results (topic, key NODE) ─▶ queue edison.results (quorum) ─▶ controller
//! controller ─▶ exchange edison.tasks (direct, key NODE) ─▶ queue edison.tasks.NODE (length 1) ─▶ probe
//!                 what is refused ─▶ exchange edison.dead ─▶ queue edison.dead
//! ```
//!
//! The controller declares all of it ([`BrokerTopology`]); a probe declares nothing and needs the rights to write to `edison.results` and to
//! read `edison.tasks.NODE` ([`Rights`]). Its user has the name of its node, or is the controller's. Neither side fails because the broker is away: each connects by itself, again and again, and says in its
//! [`LinkState`](crate::LinkState) how it is.
//!
//! What a probe sends stays in its spool until the broker has confirmed it, in order, and is sent again with the same identifier where it is
//! not known to have arrived. The controller takes each message once and in order, and acknowledges it after it is stored. So a message is
//! neither lost nor doubled by a broker that dies, as long as its spool has room. Without a file the spool ends with the probe; with one
//! ([`SpoolFile`]), the next start of the probe sends what is left before what is its own.
//!
//! An address of `amqps://` is spoken to over TLS alone. A certificate without a password says who speaks (`EXTERNAL`).
mod back_off;
mod broker;
mod connection;
mod consuming;
mod controller_link;
mod controller_state;
mod declaring;
mod intake;
mod marks;
mod outbox;
mod packed_body;
mod probe_link;
mod probe_state;
mod publishing;
mod room;
mod shortening;
mod spool_file;
mod spool_log;
mod spool_writer;
mod status;
mod task_lists;
mod tasking;
mod tls;
mod topology;
mod unwritten;
mod wire;
mod worker;

pub use broker::{BrokerAddress, BrokerError};
pub use connection::plain_connection;
pub use controller_link::{AmqpControllerLink, ControllerLinkSettings, controller_link};
pub use probe_link::{AmqpProbeLink, ProbeSettings, probe_link, spooled_probe_link};
pub use spool_file::{SpoolError, SpoolFile};
pub use tls::{Tls, TlsError};
pub use topology::{Argument, BrokerQueue, BrokerTopology, Exchange, Rights};

use std::time::Duration;

/// The longest time that the broker has to confirm a message, and to answer whatever it is asked.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two looks at a connection that carries nothing.
const LOOK: Duration = Duration::from_secs(1);

/// The longest name of a node, bytes: with a prefix it is the name of a queue, which AMQP limits to 255.
const LONGEST_NODE: usize = 200;

/// Checks that queues and messages can have the name of a node.
///
/// # Errors
/// If not.
pub fn check_node(node: &str) -> Result<(), BrokerError> {
    let is_good = (1..=LONGEST_NODE).contains(&node.len());
    if is_good { Ok(()) } else { Err(BrokerError::Node(node.to_owned())) }
}
