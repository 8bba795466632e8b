//! The state that a probe's threads share with the thread of its connection.

use super::broker::BrokerAddress;
use super::outbox::ProbeOutbox;
use super::status::ConnectionStatus;
use crate::{Boot, ListId, MessageRefusal, TaskList};
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The parts of the status.
pub(super) const PUBLISHING: usize = 0;
pub(super) const TASKING: usize = 1;

/// The state of a probe's connection.
#[derive(Debug)]
pub(super) struct ProbeState {
    pub(super) broker: BrokerAddress,
    pub(super) node: String,
    pub(super) boot: Boot,
    pub(super) status: ConnectionStatus<2>,
    outbox: Mutex<ProbeOutbox>,
    /// Signals that a message was delivered, or is in the file now.
    pub(super) confirmed: Condvar,
    /// Signals that there is something for the file.
    pub(super) unwritten: Condvar,
    /// Wakes the connection if there is a message to send.
    pub(super) wake: Notify,
    lists: Mutex<TaskListInbox>,
}

#[derive(Debug)]
struct TaskListInbox {
    into: Sender<TaskList>,
    last: Option<ListId>,
    refused: BTreeMap<&'static str, u64>,
}

impl ProbeState {
    pub(super) fn new(
        broker: BrokerAddress,
        node: String,
        boot: Boot,
        outbox: ProbeOutbox,
        into: Sender<TaskList>,
    ) -> Self {
        Self {
            status: ConnectionStatus::new(&broker),
            outbox: Mutex::new(outbox),
            confirmed: Condvar::new(),
            unwritten: Condvar::new(),
            wake: Notify::new(),
            lists: Mutex::new(TaskListInbox { into, last: None, refused: BTreeMap::new() }),
            broker,
            node,
            boot,
        }
    }

    pub(super) fn outbox(&self) -> MutexGuard<'_, ProbeOutbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first message on its way has arrived.
    pub(super) fn confirm(&self) {
        self.outbox().confirm();
        self.confirmed.notify_all();
        self.unwritten.notify_one();
    }

    fn lists(&self) -> MutexGuard<'_, TaskListInbox> {
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

    pub(super) fn refuse(&self, refusal: MessageRefusal) {
        *self.lists().refused.entry(refusal.name()).or_default() += 1;
    }

    /// Returns the number of messages of the controller that were not handed out, by the name of the reason.
    pub(super) fn refused(&self) -> BTreeMap<&'static str, u64> {
        self.lists().refused.clone()
    }
}
