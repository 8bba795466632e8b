//! The controller's side.

use super::broker::{Broker, BrokerError};
use super::intake::{Delivered, Intake, Word};
use super::status::Status;
use super::task_lists::TaskLists;
use super::worker::{Closing, Worker, keep};
use super::{check_node, connection, consuming};
use crate::{Boot, ControllerLink, Disconnected, LinkState, MessageId, Received, ToProbe};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The parts of the status.
pub(super) const CONSUMING: usize = 0;
pub(super) const LISTING: usize = 1;

/// What a controller's connections are made of.
#[derive(Clone, Debug)]
pub struct ControllerSettings {
    /// The broker.
    pub broker: Broker,
    /// The nodes; their places are their numbers.
    pub nodes: Vec<String>,
    /// Who sends for a node, where that is known.
    pub users: BTreeMap<String, String>,
    /// The last message that is stored of each start of a probe.
    pub marks: Vec<MessageId>,
    /// The most bytes of results that the broker keeps until they are acknowledged. Beyond it probes keep theirs.
    pub results_bytes: u64,
}

impl ControllerSettings {
    /// What a broker keeps if nothing else is said: 1 GiB.
    pub const RESULTS_BYTES: u64 = 1 << 30;

    /// The settings of a controller that has stored nothing.
    pub fn new(broker: Broker, nodes: Vec<String>) -> Self {
        Self { broker, nodes, users: BTreeMap::new(), marks: Vec::new(), results_bytes: Self::RESULTS_BYTES }
    }
}

/// A controller's connections. They end when it is dropped, after what was acknowledged before.
#[derive(Debug)]
pub struct AmqpControllerLink {
    shared: Arc<Shared>,
    intake: Mutex<Intake>,
    _worker: Worker,
}

/// What the program's threads and that of the connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) broker: Broker,
    pub(super) nodes: Vec<String>,
    pub(super) results_bytes: u64,
    pub(super) boot: Boot,
    pub(super) status: Status<2>,
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    words: Mutex<Vec<Word>>,
    /// There is something to tell the broker.
    pub(super) words_wake: Notify,
    lists: Mutex<TaskLists>,
    /// There is a list to send.
    pub(super) lists_wake: Notify,
}

/// Deliveries that nobody has looked at.
#[derive(Debug, Default)]
struct Inbox {
    connection: u64,
    delivered: VecDeque<Delivered>,
}

/// Connects a controller. That the broker is away is no error: it is tried again and again.
///
/// # Errors
/// If the settings can never work, or there is no thread.
pub fn controller_link(settings: ControllerSettings) -> Result<AmqpControllerLink, BrokerError> {
    let ControllerSettings { broker, nodes, users, marks, results_bytes } = settings;
    nodes.iter().try_for_each(|node| check_node(node))?;
    let intake = Intake::new(&nodes, users, &marks);
    let boot = Boot::random();
    let shared = Arc::new(Shared {
        status: Status::new(&broker),
        lists: Mutex::new(TaskLists::new(&nodes, boot)),
        broker,
        nodes,
        results_bytes,
        boot,
        inbox: Mutex::default(),
        arrived: Condvar::new(),
        words: Mutex::default(),
        words_wake: Notify::new(),
        lists_wake: Notify::new(),
    });
    let own = Arc::clone(&shared);
    let worker = Worker::start("broker", move |closing| async move {
        tokio::join!(
            keep(&closing, &own.status, CONSUMING, async || own.consume(&closing).await),
            keep(&closing, &own.status, LISTING, async || own.send_lists(&closing).await),
        );
    })?;
    Ok(AmqpControllerLink { shared, intake: Mutex::new(intake), _worker: worker })
}

impl Shared {
    async fn consume(&self, closing: &Closing) -> Result<(), String> {
        let connection = tokio::select! {
            connection = connection::connect(&self.broker, "edison controller, results") => connection?,
            () = closing.wait() => return Ok(()),
        };
        let ended = consuming::consume(self, &connection, closing).await;
        connection::close(&connection).await;
        ended
    }

    async fn send_lists(&self, closing: &Closing) -> Result<(), String> {
        let connection = tokio::select! {
            connection = connection::connect(&self.broker, "edison controller, task lists") => connection?,
            () = closing.wait() => return Ok(()),
        };
        let ended = tokio::select! {
            ended = consuming::send_lists(self, &connection, closing) => ended,
            () = closing.wait() => Ok(()),
        };
        connection::close(&connection).await;
        ended
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection begins: what an earlier one delivered and nobody has looked at comes again. Returns its number.
    pub(super) fn begin(&self) -> u64 {
        let mut inbox = self.inbox();
        inbox.delivered.clear();
        inbox.connection += 1;
        inbox.connection
    }

    pub(super) fn deliver(&self, delivered: Delivered) {
        self.inbox().delivered.push_back(delivered);
        self.arrived.notify_one();
    }

    pub(super) fn take_words(&self) -> Vec<Word> {
        std::mem::take(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn say(&self, word: Option<Word>) {
        if let Some(word) = word {
            self.words.lock().unwrap_or_else(PoisonError::into_inner).push(word);
            self.words_wake.notify_one();
        }
    }

    pub(super) fn lists(&self) -> MutexGuard<'_, TaskLists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next delivery, if one comes by then.
    fn next(&self, until: Instant) -> Option<Delivered> {
        let mut inbox = self.inbox();
        loop {
            if let Some(delivered) = inbox.delivered.pop_front() {
                return Some(delivered);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            inbox = self.arrived.wait_timeout(inbox, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl AmqpControllerLink {
    fn intake(&self) -> MutexGuard<'_, Intake> {
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

    fn receive(&self, wait: Duration) -> Result<Option<Received>, Disconnected> {
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

    fn state(&self) -> LinkState {
        self.shared.status.get()
    }
}
