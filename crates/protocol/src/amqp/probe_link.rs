//! A probe's side.

use super::broker::{BrokerAddress, BrokerError};
use super::outbox::ProbeOutbox;
use super::probe_state::{PUBLISHING, ProbeState};
use super::spool_file::SpoolFile;
use super::spool_writer::SpoolWriter;
use super::worker::{ConnectionThread, ShutdownSignal, keep};
use super::{check_node, connection, publishing, tasking};
use crate::envelope::PackedBody;
use crate::{Boot, Disconnected, FromProbe, LinkState, ProbeLink, TaskList, ToProbe};
use model::view::Spool;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The settings of a probe's connection.
#[derive(Clone, Debug)]
pub struct ProbeSettings {
    /// The broker.
    pub broker: BrokerAddress,
    /// The node.
    pub node: String,
    /// The most bytes that are kept until the broker has them. Beyond it the oldest window results are dropped and counted.
    pub spool_bytes: usize,
}

impl ProbeSettings {
    /// The usual size of a spool: 64 MiB.
    pub const SPOOL_BYTES: usize = 64 << 20;
}

/// A probe's connection. It ends when it is dropped. What is in its spool is lost then ([`ProbeLink::flush`]), unless it has a file.
#[derive(Debug)]
pub struct AmqpProbeLink {
    shared: Arc<ProbeState>,
    lists: Mutex<Receiver<TaskList>>,
    _worker: ConnectionThread,
    // After what it sends: what was confirmed last is written too.
    _writer: SpoolWriter,
}

/// Connects a probe. That the broker is away is no error: it is tried again and again.
///
/// # Errors
/// If the settings can never work, or there is no thread.
pub fn probe_link(settings: ProbeSettings) -> Result<AmqpProbeLink, BrokerError> {
    link(settings, None)
}

/// Connects a probe with a spool in a file: what it kept of earlier starts is sent first, under the identifiers that it had.
///
/// # Errors
/// If the settings can never work, or there is no thread.
pub fn spooled_probe_link(settings: ProbeSettings, spool: SpoolFile) -> Result<AmqpProbeLink, BrokerError> {
    link(settings, Some(spool))
}

fn link(settings: ProbeSettings, spool: Option<SpoolFile>) -> Result<AmqpProbeLink, BrokerError> {
    let ProbeSettings { broker, node, spool_bytes } = settings;
    check_node(&node)?;
    broker.check()?;
    let (into, lists) = channel();
    let boot = Boot::random();
    let mut outbox = ProbeOutbox::new(node.clone(), boot, spool_bytes);
    let log = spool.map(|SpoolFile { log, messages, totals, fault, .. }| {
        outbox.go_on(messages, totals, fault);
        log
    });
    let shared = Arc::new(ProbeState::new(broker, node, boot, outbox, into));
    let writer = SpoolWriter::start(&shared, log)?;
    let own = Arc::clone(&shared);
    let worker = ConnectionThread::start("broker", move |closing| async move {
        keep(&closing, &own.status, PUBLISHING, async || session(&own, &closing).await).await;
    })?;
    Ok(AmqpProbeLink { shared, lists: Mutex::new(lists), _worker: worker, _writer: writer })
}

/// Connects once, and works until the connection breaks, for the reason that is returned, or is to end.
async fn session(shared: &ProbeState, closing: &ShutdownSignal) -> Result<(), String> {
    let name = format!("edison probe {}", shared.node);
    let connection = tokio::select! {
        connection = connection::connect(&shared.broker, &name, None) => connection?,
        () = closing.wait() => return Ok(()),
    };
    let ended = tokio::select! {
        ended = publishing::publish(shared, &connection, closing) => ended,
        ended = tasking::receive(shared, &connection, closing) => ended,
    };
    connection::close(&connection).await;
    ended
}

impl AmqpProbeLink {
    /// The start that its messages name.
    pub fn boot(&self) -> Boot {
        self.shared.boot
    }

    /// Waits until all that was sent is in the file of the spool for good, or delivered, for so long at most. Returns whether it is; never
    /// without a file.
    pub fn save(&self, wait: Duration) -> bool {
        self.wait(wait, ProbeOutbox::is_saved)
    }

    fn wait(&self, wait: Duration, is_so: impl Fn(&ProbeOutbox) -> bool) -> bool {
        let until = Instant::now() + wait;
        let mut outbox = self.shared.outbox();
        while !is_so(&outbox) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.confirmed.wait_timeout(outbox, left);
            outbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Returns the number of messages of the controller that were not handed out, by the name of the reason.
    pub fn refused(&self) -> BTreeMap<&'static str, u64> {
        self.shared.refused()
    }
}

impl ProbeLink for AmqpProbeLink {
    fn send(&self, message: FromProbe) -> Result<(), Disconnected> {
        // Not under the lock: the thread of the connection goes on meanwhile.
        let body = PackedBody::new(&message);
        self.shared.outbox().push(&message, body);
        self.shared.wake.notify_one();
        self.shared.unwritten.notify_one();
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
        self.wait(wait, ProbeOutbox::is_empty)
    }

    fn state(&self) -> LinkState {
        self.shared.status.get()
    }

    fn spool(&self) -> Spool {
        self.shared.outbox().spool()
    }
}
