//! The queue between the thread that delivers records and the one that sends them: a bounded number of bytes.

use super::message::{IpfixMessage, RecordSums};
use super::options::ExportTotals;
use crate::MeasurementTotals;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of messages that may wait for a collector: an exporter's share of the machine's memory.
pub const EXPORT_QUEUE_BYTES: usize = 8 << 20;
/// Buffers kept for reuse.
const SPARE: usize = 64;

/// An entry of the queue, in the order in which they must be sent.
#[derive(Debug)]
pub(super) enum QueueEntry {
    /// A template record. Takes no room: there are few.
    Template(Vec<u8>),
    Message(IpfixMessage),
}

/// The next work of the sending thread.
#[derive(Debug)]
pub(super) enum ExportStep {
    Send(QueueEntry),
    /// A report to the collector of what was measured and exported.
    Account(MeasurementTotals),
    /// The awaited time has been reached.
    Timeout,
    /// The end: all is sent, or it is too late.
    End,
}

#[derive(Debug, Default)]
struct ExportQueueState {
    entries: VecDeque<QueueEntry>,
    bytes: usize,
    records: u64,
    spare: Vec<Vec<u8>>,
    account: Option<MeasurementTotals>,
    exported: ExportTotals,
    warnings: Vec<String>,
    /// True if the collector takes messages, as far as the sender knows.
    is_taking: bool,
    /// The time at which what is not sent is dropped, once no more entries follow.
    deadline: Option<Instant>,
    /// True if the sender has ended by failing.
    is_dead: bool,
}

/// The queue and the state shared by both threads.
#[derive(Debug)]
pub(super) struct ExportQueue {
    state: Mutex<ExportQueueState>,
    /// A signal that there is something to do.
    work: Condvar,
    /// A signal that there is more room, or that there will be none.
    room: Condvar,
    /// Records that may wait; bounds the time of sending them if there is a pace.
    most_records: u64,
}

impl ExportQueue {
    pub(super) fn new(most_records: u64) -> Self {
        let state = ExportQueueState { is_taking: true, ..ExportQueueState::default() };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new(), most_records }
    }

    /// A panic of the other thread leaves the state consistent.
    fn lock(&self) -> MutexGuard<'_, ExportQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, state: &ExportQueueState, message: &IpfixMessage) -> bool {
        !state.is_dead
            && state.bytes + message.bytes.len() <= EXPORT_QUEUE_BYTES
            && (state.records + message.flows.records <= self.most_records || state.records == 0)
    }

    /// Queues a template record.
    pub(super) fn push_template(&self, definition: Vec<u8>) {
        self.lock().entries.push_back(QueueEntry::Template(definition));
        self.work.notify_one();
    }

    /// Queues a message and leaves another buffer in its place; without room, its records are dropped. If
    /// `patience` is given, waits for room as long as the collector accepts messages, and stops waiting after
    /// this much time without any. Returns whether there was room.
    pub(super) fn push(&self, message: &mut IpfixMessage, patience: Option<Duration>) -> bool {
        let mut state = self.lock();
        if let Some(patience) = patience {
            let mut seen = state.exported.messages;
            while !self.has_room(&state, message) && state.is_taking && !state.is_dead {
                let (next, timeout) =
                    self.room.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
                state = next;
                if timeout.timed_out() && state.exported.messages == seen {
                    state.is_taking = false;
                }
                seen = state.exported.messages;
            }
        }
        if !self.has_room(&state, message) {
            state.exported.not_sent.add(message.flows);
            return false;
        }
        let spare = state.spare.pop().unwrap_or_default();
        let flows = std::mem::take(&mut message.flows);
        let bytes = std::mem::replace(&mut message.bytes, spare);
        state.bytes += bytes.len();
        state.records += flows.records;
        state.entries.push_back(QueueEntry::Message(IpfixMessage { bytes, flows }));
        drop(state);
        self.work.notify_one();
        true
    }

    /// Leaves the latest account for the collector.
    pub(super) fn account(&self, account: MeasurementTotals) {
        self.lock().account = Some(account);
        self.work.notify_one();
    }

    /// Returns the totals of what was exported so far.
    pub(super) fn exported(&self) -> ExportTotals {
        self.lock().exported
    }

    /// Warnings not taken yet.
    pub(super) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().warnings)
    }

    /// Closes the queue: no more entries follow, and what is not sent within `time` is dropped.
    pub(super) fn close(&self, time: Duration) {
        let deadline = Instant::now() + time;
        let mut state = self.lock();
        state.deadline = Some(state.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        drop(state);
        self.work.notify_all();
    }

    // The sender is responsible for the rest.

    /// The next work, waiting for it until `until`. An account overtakes earlier messages: it is of another
    /// kind, and a full queue must not delay it.
    pub(super) fn next(&self, until: Option<Instant>) -> ExportStep {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            if state.deadline.is_some_and(|deadline| now >= deadline) {
                return ExportStep::End;
            }
            if let Some(account) = state.account.take() {
                return ExportStep::Account(account);
            }
            if let Some(entry) = state.entries.pop_front() {
                if let QueueEntry::Message(message) = &entry {
                    state.bytes -= message.bytes.len();
                    state.records -= message.flows.records;
                }
                return ExportStep::Send(entry);
            }
            if state.deadline.is_some() {
                return ExportStep::End;
            }
            state = match until {
                Some(until) if until <= now => return ExportStep::Timeout,
                Some(until) => {
                    let wait = self.work.wait_timeout(state, until - now);
                    wait.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Waits until `until`. False if continuing is useless: the deadline has passed, or no more entries
    /// follow and neither the queue nor the sender (`holds`) has records.
    pub(super) fn sleep_until(&self, until: Instant, holds: bool) -> bool {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let is_drained = state.records == 0 && !holds;
            if state.deadline.is_some_and(|deadline| now >= deadline || is_drained) {
                return false;
            }
            if now >= until {
                return true;
            }
            let wake = state.deadline.map_or(until, |deadline| deadline.min(until));
            let wait = self.work.wait_timeout(state, wake - now);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns true if it is too late to send anything.
    pub(super) fn is_over(&self) -> bool {
        self.lock().deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Counts a message that was sent; its buffer is reused.
    pub(super) fn sent(&self, bytes: usize, flows: RecordSums, buffer: Option<Vec<u8>>) {
        let mut state = self.lock();
        state.exported.messages += 1;
        state.exported.bytes += bytes as u64;
        state.exported.sent.add(flows);
        // Templates are sent as probes for a listener.
        state.is_taking |= flows.records != 0;
        if let Some(buffer) = buffer.filter(|_| state.spare.len() < SPARE) {
            state.spare.push(buffer);
        }
        drop(state);
        self.room.notify_one();
    }

    /// Counts records that were sent as lost after all.
    pub(super) fn count_refused(&self, flows: RecordSums) {
        let mut state = self.lock();
        state.exported.sent.take(flows);
        state.exported.not_sent.add(flows);
    }

    /// Counts records that will not be sent.
    pub(super) fn dropped(&self, flows: RecordSums) {
        self.lock().exported.not_sent.add(flows);
    }

    /// Takes note that the collector does not accept messages now.
    pub(super) fn mark_away(&self) {
        self.lock().is_taking = false;
        self.room.notify_one();
    }

    pub(super) fn warn(&self, line: String) {
        self.lock().warnings.push(line);
    }

    /// Drops all that is left: the sender ends.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_dead = true;
        while let Some(entry) = state.entries.pop_front() {
            if let QueueEntry::Message(message) = entry {
                state.exported.not_sent.add(message.flows);
            }
        }
        drop(state);
        self.room.notify_all();
    }
}
