//! The plan of what a broker is to have.

use crate::controller::config::check_nodes;
use crate::options::ControllerSettings;
use protocol::amqp::{self, BrokerTopology, Rights, check_node};
use runtime::broker;
use runtime::exit::Failure;
use std::path::{Path, PathBuf};

/// The user that a broker begins with.
pub(super) const GUEST: &str = "guest";

/// The way in which users log in.
#[derive(Clone, Copy)]
pub(super) enum Login<'a> {
    /// Users log in by the certificate that has their name; they have no password.
    Certificates,
    /// Users log in by a password, which is in this folder.
    Passwords(&'a Path),
}

/// The plan of what a broker is to have.
pub(super) struct ProvisionPlan {
    /// The virtual host.
    pub(super) vhost: String,
    pub(super) topology: BrokerTopology,
    pub(super) users: Vec<User>,
    /// The file of the authority that the broker's certificates are of.
    pub(super) ca: Option<PathBuf>,
}

/// A user.
pub(super) struct User {
    pub(super) name: String,
    pub(super) rights: Rights,
}

impl ProvisionPlan {
    /// Makes the plan from the settings of a controller. Its password and its key are not asked for: they may not be there yet.
    pub(super) fn from_settings(settings: ControllerSettings) -> Result<Self, Failure> {
        let broker = broker::named(&settings.broker, "amqps://controller@HOST")?;
        let nodes = settings.nodes;
        check_nodes(&nodes)?;
        let checked = nodes.iter().try_for_each(|node| check_node(node));
        checked.map_err(|error| Failure::usage(format!("'nodes': {error}")))?;
        let own = broker.user();
        if own == GUEST {
            return Err(Failure::usage(
                "'broker': name a user for the controller, as amqps://controller@HOST: guest is the default administrator of RabbitMQ",
            ));
        }
        if let Some(node) = nodes.iter().find(|node| *node == own || *node == GUEST) {
            return Err(Failure::usage(format!(
                "'nodes': {node}: each node has a user of its name, and this one is somebody else's"
            )));
        }
        let topology = BrokerTopology::new(&nodes, amqp::ControllerLinkSettings::RESULTS_BYTES);
        let probe = |node: String| User { rights: Rights::for_probe(&node), name: node };
        let controller = User { name: own.to_owned(), rights: Rights::for_controller() };
        let users = std::iter::once(controller).chain(nodes.into_iter().map(probe)).collect();
        Ok(Self { vhost: broker.vhost().to_owned(), topology, users, ca: settings.broker.ca })
    }
}
