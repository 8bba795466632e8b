//! The client of Kafka that this build has, if any.

use crate::{Producer, Servers, Topics};

/// Makes a client of a cluster, which sends nothing as yet. An error is one line: the system gives no means to wait for sockets.
pub type ProducerFactory = fn(Servers, Topics) -> Result<Box<dyn Producer>, String>;

/// The clients, of which the feature `client` adds one.
const CLIENTS: &[ProducerFactory] = &[
    #[cfg(feature = "client")]
    |servers, topics| Ok(Box::new(crate::cluster::Cluster::new(servers, topics)?)),
];

/// Returns the client of this build; `None` without the feature `client`.
pub fn client() -> Option<ProducerFactory> {
    CLIENTS.first().copied()
}
