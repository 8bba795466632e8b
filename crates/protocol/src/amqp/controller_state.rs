//! The state that a controller's threads share with the thread of its connections.

use super::broker::BrokerAddress;
use super::intake::{BrokerDelivery, DeliveryReply};
use super::room::Room;
use super::status::ConnectionStatus;
use super::task_lists::TaskLists;
use crate::Boot;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// The parts of the status.
pub(super) const CONSUMING: usize = 0;
pub(super) const LISTING: usize = 1;

/// The state of a controller's connections.
#[derive(Debug)]
pub(super) struct ControllerState {
    pub(super) broker: BrokerAddress,
    pub(super) nodes: Vec<String>,
    pub(super) results_bytes: u64,
    pub(super) boot: Boot,
    pub(super) status: ConnectionStatus<2>,
    inbox: Mutex<DeliveryQueue>,
    arrived: Condvar,
    words: Mutex<Vec<DeliveryReply>>,
    /// Wakes the connection if there is something to tell the broker.
    pub(super) words_wake: Notify,
    lists: Mutex<TaskLists>,
    /// Wakes the connection if there is a task list to send.
    pub(super) lists_wake: Notify,
}

/// Deliveries that are not handed out yet.
#[derive(Debug, Default)]
struct DeliveryQueue {
    connection: u64,
    /// The room of the connection.
    room: Arc<Room>,
    delivered: VecDeque<BrokerDelivery>,
}

impl ControllerState {
    pub(super) fn new(broker: BrokerAddress, nodes: Vec<String>, results_bytes: u64, boot: Boot) -> Self {
        Self {
            status: ConnectionStatus::new(&broker),
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
        }
    }

    fn inbox(&self) -> MutexGuard<'_, DeliveryQueue> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection begins. The broker delivers again what an earlier one delivered and was not handed out. Returns its number.
    pub(super) fn begin(&self, room: &Arc<Room>) -> u64 {
        let mut inbox = self.inbox();
        inbox.delivered.clear();
        inbox.room = Arc::clone(room);
        inbox.connection += 1;
        inbox.connection
    }

    pub(super) fn deliver(&self, delivered: BrokerDelivery) {
        self.inbox().delivered.push_back(delivered);
        self.arrived.notify_one();
    }

    pub(super) fn take_words(&self) -> Vec<DeliveryReply> {
        std::mem::take(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn say(&self, word: Option<DeliveryReply>) {
        if let Some(word) = word {
            self.words.lock().unwrap_or_else(PoisonError::into_inner).push(word);
            self.words_wake.notify_one();
        }
    }

    pub(super) fn lists(&self) -> MutexGuard<'_, TaskLists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next delivery until this time; `None` if there is none.
    pub(super) fn next(&self, until: Instant) -> Option<BrokerDelivery> {
        let mut inbox = self.inbox();
        loop {
            if let Some(delivered) = inbox.delivered.pop_front() {
                inbox.room.release(delivered.bytes.len());
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
