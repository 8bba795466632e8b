//! A probe's side.

use super::broker::{Broker, BrokerError};
use super::outbox::Outbox;
use super::status::Status;
use super::worker::{Closing, Worker, keep};
use super::{check_node, connection, publishing, tasking};
use crate::envelope::PackedBody;
use crate::{Boot, Disconnected, FromProbe, LinkState, ListId, ProbeLink, Refusal, Spool, TaskList, ToProbe};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The parts of the status.
pub(super) const PUBLISHING: usize = 0;
pub(super) const TASKING: usize = 1;

/// What a probe's connection is made of.
#[derive(Clone, Debug)]
pub struct ProbeSettings {
    /// The broker.
    pub broker: Broker,
    /// The node.
    pub node: String,
    /// The most bytes that are kept until the broker has them. Beyond it the oldest window results are dropped and counted.
    pub spool_bytes: usize,
}

impl ProbeSettings {
    /// The usual size of a spool: 64 MiB.
    pub const SPOOL_BYTES: usize = 64 << 20;
}

/// A probe's connection. It ends when it is dropped, and what is in its spool is lost then: see [`ProbeLink::flush`].
#[derive(Debug)]
pub struct AmqpProbeLink {
    shared: Arc<Shared>,
    lists: Mutex<Receiver<TaskList>>,
    _worker: Worker,
}

/// What the program's threads and that of the connection share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) broker: Broker,
    pub(super) node: String,
    pub(super) boot: Boot,
    pub(super) status: Status<2>,
    outbox: Mutex<Outbox>,
    confirmed: Condvar,
    /// There is something to send.
    pub(super) wake: Notify,
    lists: Mutex<Lists>,
}

#[derive(Debug)]
struct Lists {
    into: Sender<TaskList>,
    last: Option<ListId>,
    refused: BTreeMap<&'static str, u64>,
}

/// Connects a probe. That the broker is away is no error: it is tried again and again.
///
/// # Errors
/// If the settings can never work, or there is no thread.
pub fn probe_link(settings: ProbeSettings) -> Result<AmqpProbeLink, BrokerError> {
    let ProbeSettings { broker, node, spool_bytes } = settings;
    check_node(&node)?;
    let (into, lists) = channel();
    let boot = Boot::random();
    let shared = Arc::new(Shared {
        status: Status::new(&broker),
        outbox: Mutex::new(Outbox::new(node.clone(), boot, spool_bytes)),
        confirmed: Condvar::new(),
        wake: Notify::new(),
        lists: Mutex::new(Lists { into, last: None, refused: BTreeMap::new() }),
        broker,
        node,
        boot,
    });
    let own = Arc::clone(&shared);
    let worker = Worker::start("broker", move |closing| async move {
        keep(&closing, &own.status, PUBLISHING, async || own.session(&closing).await).await;
    })?;
    Ok(AmqpProbeLink { shared, lists: Mutex::new(lists), _worker: worker })
}

impl Shared {
    async fn session(&self, closing: &Closing) -> Result<(), String> {
        let name = format!("edison probe {}", self.node);
        let connection = tokio::select! {
            connection = connection::connect(&self.broker, &name) => connection?,
            () = closing.wait() => return Ok(()),
        };
        let ended = tokio::select! {
            ended = publishing::publish(self, &connection, closing) => ended,
            ended = tasking::receive(self, &connection, closing) => ended,
        };
        connection::close(&connection).await;
        ended
    }

    pub(super) fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first message on its way has arrived.
    pub(super) fn confirm(&self) {
        self.outbox().confirm();
        self.confirmed.notify_all();
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a list to the program, unless it has had it or a newer one.
    pub(super) fn deliver(&self, list: TaskList) {
        let mut lists = self.lists();
        if lists.last.is_none_or(|last| list.id() > last) {
            lists.last = Some(list.id());
            // A program that does not listen any more drops its connection too.
            let _ = lists.into.send(list);
        }
    }

    pub(super) fn refuse(&self, refusal: Refusal) {
        *self.lists().refused.entry(refusal.name()).or_default() += 1;
    }
}

impl AmqpProbeLink {
    /// The start that its messages name.
    pub fn boot(&self) -> Boot {
        self.shared.boot
    }

    /// How many messages of the controller were not handed out, by the name of the reason.
    pub fn refused(&self) -> BTreeMap<&'static str, u64> {
        self.shared.lists().refused.clone()
    }
}

impl ProbeLink for AmqpProbeLink {
    fn send(&self, message: FromProbe) -> Result<(), Disconnected> {
        // Not under the lock: the thread of the connection goes on meanwhile.
        let body = PackedBody::new(&message);
        self.shared.outbox().push(&message, body);
        self.shared.wake.notify_one();
        Ok(())
    }

    fn receive(&self, wait: Duration) -> Result<Option<ToProbe>, Disconnected> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        match lists.recv_timeout(wait) {
            Ok(list) => Ok(Some(ToProbe::Tasks(list))),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Disconnected),
        }
    }

    fn flush(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        let mut outbox = self.shared.outbox();
        while !outbox.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.confirmed.wait_timeout(outbox, left);
            outbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn state(&self) -> LinkState {
        self.shared.status.get()
    }

    fn spool(&self) -> Spool {
        self.shared.outbox().spool()
    }
}
