//! The controller's side.

use super::broker::{BrokerAddress, BrokerError};
use super::controller_state::{CONSUMING, ControllerState, LISTING};
use super::intake::DeliveryIntake;
use super::worker::{ConnectionThread, ShutdownSignal, keep};
use super::{check_node, connection, consuming};
use crate::{Boot, ControllerLink, Disconnected, LinkState, MessageId, ReceivedMessage, ToProbe};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The settings of a controller's connections.
#[derive(Clone, Debug)]
pub struct ControllerLinkSettings {
    /// The broker. Its user may send for all nodes; for each node its own user may, who has its name.
    pub broker: BrokerAddress,
    /// The nodes; their places are their numbers.
    pub nodes: Vec<String>,
    /// The last message that is stored of each start of a probe.
    pub marks: Vec<MessageId>,
    /// The most bytes of results that the broker keeps until they are acknowledged. Beyond it probes keep theirs.
    pub results_bytes: u64,
}

impl ControllerLinkSettings {
    /// The most bytes of results that a broker keeps by default: 1 GiB.
    pub const RESULTS_BYTES: u64 = 1 << 30;

    /// The settings of a controller that has stored nothing.
    pub fn new(broker: BrokerAddress, nodes: Vec<String>) -> Self {
        Self { broker, nodes, marks: Vec::new(), results_bytes: Self::RESULTS_BYTES }
    }
}

/// A controller's connections. They end when it is dropped, after what was acknowledged before.
#[derive(Debug)]
pub struct AmqpControllerLink {
    shared: Arc<ControllerState>,
    intake: Mutex<DeliveryIntake>,
    _worker: ConnectionThread,
}

/// Connects a controller. That the broker is away is no error: it is tried again and again.
///
/// # Errors
/// If the settings can never work, or there is no thread.
pub fn controller_link(settings: ControllerLinkSettings) -> Result<AmqpControllerLink, BrokerError> {
    let ControllerLinkSettings { broker, nodes, marks, results_bytes } = settings;
    nodes.iter().try_for_each(|node| check_node(node))?;
    broker.check()?;
    let intake = DeliveryIntake::new(&nodes, broker.user(), &marks);
    let boot = Boot::random();
    let shared = Arc::new(ControllerState::new(broker, nodes, results_bytes, boot));
    let own = Arc::clone(&shared);
    let worker = ConnectionThread::start("broker", move |closing| async move {
        tokio::join!(
            keep(&closing, &own.status, CONSUMING, async || consume(&own, &closing).await),
            keep(&closing, &own.status, LISTING, async || send_lists(&own, &closing).await),
        );
    })?;
    Ok(AmqpControllerLink { shared, intake: Mutex::new(intake), _worker: worker })
}

/// Connects once, and takes what probes send until the connection breaks or is to end.
async fn consume(shared: &ControllerState, closing: &ShutdownSignal) -> Result<(), String> {
    let room = Arc::default();
    let connection = tokio::select! {
        connection = connection::connect(&shared.broker, "edison controller, results", Some(&room)) => connection?,
        () = closing.wait() => return Ok(()),
    };
    let ended = consuming::consume(shared, &connection, &room, closing).await;
    connection::close(&connection).await;
    ended
}

/// Connects once, and sends task lists until the connection breaks or is to end.
async fn send_lists(shared: &ControllerState, closing: &ShutdownSignal) -> Result<(), String> {
    let connection = tokio::select! {
        connection = connection::connect(&shared.broker, "edison controller, task lists", None) => connection?,
        () = closing.wait() => return Ok(()),
    };
    let ended = tokio::select! {
        ended = consuming::send_lists(shared, &connection, closing) => ended,
        () = closing.wait() => Ok(()),
    };
    connection::close(&connection).await;
    ended
}

impl AmqpControllerLink {
    fn intake(&self) -> MutexGuard<'_, DeliveryIntake> {
        self.intake.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ControllerLink for AmqpControllerLink {
    /// Sends a task list. What lets a replay go on has no meaning for probes elsewhere, which are live, and is not sent.
    fn send(&self, node: usize, message: ToProbe) -> Result<(), Disconnected> {
        let ToProbe::Tasks(list) = message else { return Ok(()) };
        if !self.shared.lists().put(node, list) {
            return Err(Disconnected);
        }
        self.shared.lists_wake.notify_one();
        Ok(())
    }

    fn receive(&self, wait: Duration) -> Result<Option<ReceivedMessage>, Disconnected> {
        let until = Instant::now() + wait;
        while let Some(delivered) = self.shared.next(until) {
            let (received, word) = self.intake().take(&delivered);
            self.shared.say(word);
            if received.is_some() {
                return Ok(received);
            }
        }
        Ok(None)
    }

    fn acknowledge(&self) {
        let word = self.intake().acknowledge();
        self.shared.say(word);
    }

    fn refused(&self) -> BTreeMap<&'static str, u64> {
        self.intake().refused()
    }

    fn refused_of(&self, node: usize) -> BTreeMap<&'static str, u64> {
        self.intake().refused_of(node)
    }

    fn state(&self) -> LinkState {
        self.shared.status.get()
    }
}
