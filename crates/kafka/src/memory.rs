//! Messages that wait in memory, which has a bound.

use crate::{Bell, Message, MessageBatch, Outbox};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Messages of a batch, and their bytes.
const MOST: usize = 500;
const MOST_BYTES: usize = 4 << 20;
/// The interval at which a feed that waits for room looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
struct MessageQueue {
    messages: VecDeque<Message>,
    bytes: usize,
    /// Messages of the batch that was given last.
    given: usize,
    /// The number of messages that found no room since the last batch, and of contents that could not be written.
    no_room: u64,
    not_json: u64,
    /// True if the receiver is gone: messages are no longer taken.
    is_over: bool,
}

#[derive(Debug)]
struct SharedQueue {
    queue: Mutex<MessageQueue>,
    /// The condition that there is room.
    room: Condvar,
    most_bytes: usize,
    bell: Bell,
}

impl SharedQueue {
    fn queue(&self) -> MutexGuard<'_, MessageQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Messages that wait in memory.
#[derive(Debug)]
pub struct MemoryOutbox(Arc<SharedQueue>);

impl MemoryOutbox {
    /// An outbox with a limit in bytes. Each new message rings the bell.
    pub fn new(most_bytes: usize, bell: Bell) -> Self {
        Self(Arc::new(SharedQueue { queue: Mutex::default(), room: Condvar::new(), most_bytes, bell }))
    }

    /// Returns a feed that puts messages in. A feed that waits for room waits no more once `stop` is set.
    pub fn feed(&self, may_wait: bool, stop: Arc<AtomicBool>) -> OutboxSender {
        OutboxSender { shared: Arc::clone(&self.0), may_wait, stop }
    }
}

impl Drop for MemoryOutbox {
    fn drop(&mut self) {
        self.0.queue().is_over = true;
        self.0.room.notify_all();
    }
}

impl Outbox for MemoryOutbox {
    fn what(&self) -> &'static str {
        "answers and events"
    }

    fn next(&mut self) -> Result<MessageBatch, String> {
        let mut queue = self.0.queue();
        let mut bytes = 0;
        let within = |message: &&Message| {
            bytes += message.bytes();
            bytes <= MOST_BYTES
        };
        let messages: Vec<Message> = queue.messages.iter().take(MOST).take_while(within).cloned().collect();
        // One that is longer goes alone.
        let messages = match (messages.is_empty(), queue.messages.front()) {
            (true, Some(first)) => vec![first.clone()],
            _ => messages,
        };
        queue.given = messages.len();
        let [no_room, not_json] = [std::mem::take(&mut queue.no_room), std::mem::take(&mut queue.not_json)];
        let lost = [("no_room", no_room), ("not_json", not_json)];
        Ok(MessageBatch { messages, lost: lost.into_iter().filter(|(_, number)| *number != 0).collect() })
    }

    fn acknowledge(&mut self) -> Result<(), String> {
        let mut queue = self.0.queue();
        let given = std::mem::take(&mut queue.given);
        let freed: usize = queue.messages.drain(..given).map(|message| message.bytes()).sum();
        queue.bytes -= freed;
        self.0.room.notify_all();
        Ok(())
    }

    fn waiting(&mut self) -> u64 {
        let queue = self.0.queue();
        queue.messages.len() as u64 + queue.no_room + queue.not_json
    }
}

/// The end of a [`MemoryOutbox`] where messages are put in.
#[derive(Clone, Debug)]
pub struct OutboxSender {
    shared: Arc<SharedQueue>,
    may_wait: bool,
    stop: Arc<AtomicBool>,
}

impl OutboxSender {
    /// Puts in messages. Those that find no room are counted; a feed that may wait waits for room before.
    pub fn push(&self, messages: impl IntoIterator<Item = Message>) {
        let mut queue = self.shared.queue();
        for message in messages {
            let bytes = message.bytes();
            // An empty outbox takes one of any size.
            let is_full = |queue: &MessageQueue| {
                !queue.messages.is_empty() && queue.bytes + bytes > self.shared.most_bytes
            };
            while is_full(&queue) && self.may_wait && !queue.is_over && !self.stop.load(Relaxed) {
                let waited = self.shared.room.wait_timeout(queue, LOOK);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            if is_full(&queue) || queue.is_over {
                queue.no_room += 1;
            } else {
                queue.bytes += bytes;
                queue.messages.push_back(message);
                // Who waits below holds what others are to take.
                self.shared.bell.ring();
            }
        }
    }

    /// Counts something that no message could be made of.
    pub fn count_not_json(&self) {
        self.shared.queue().not_json += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topic;

    fn message(id: usize, bytes: usize) -> Message {
        let (id, key) = (id.to_string(), String::new());
        Message { topic: Topic::Answers, id, key, value: vec![0; bytes] }
    }

    fn ids(batch: &MessageBatch) -> Vec<&str> {
        batch.messages.iter().map(|message| message.id.as_str()).collect()
    }

    #[test]
    fn what_finds_no_room_is_counted_and_the_rest_is_kept_in_order() {
        let mut outbox = MemoryOutbox::new(10_000, Bell::default());
        let feed = outbox.feed(false, Arc::default());
        feed.push((0..20).map(|id| message(id, 1_000)));
        let batch = outbox.next().expect("a batch");
        assert_eq!(ids(&batch), ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
        assert_eq!(batch.lost, [("no_room", 11)]);
        assert_eq!(outbox.waiting(), 9);
        outbox.acknowledge().expect("it is noted");
        assert_eq!(outbox.next(), Ok(MessageBatch::default()));
        // One that is larger than all the room goes into an empty outbox.
        feed.push([message(20, 20_000), message(21, 1)]);
        let batch = outbox.next().expect("a batch");
        assert_eq!((ids(&batch), &batch.lost[..]), (vec!["20"], &[("no_room", 1)][..]));
    }

    #[test]
    fn one_who_may_wait_loses_nothing() {
        let mut outbox = MemoryOutbox::new(5_000, Bell::default());
        let feed = outbox.feed(true, Arc::default());
        let thread = std::thread::spawn(move || feed.push((0..100).map(|id| message(id, 1_000))));
        let mut taken = Vec::new();
        while taken.len() < 100 {
            let batch = outbox.next().expect("a batch");
            assert!(batch.lost.is_empty());
            taken.extend(batch.messages.into_iter().map(|message| message.id));
            outbox.acknowledge().expect("it is noted");
        }
        thread.join().expect("it ends");
        assert_eq!(taken, (0..100).map(|id| id.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_for_one_who_is_gone_or_once_the_run_is_to_end() {
        let outbox = MemoryOutbox::new(1_000, Bell::default());
        let stop = Arc::new(AtomicBool::new(true));
        let feed = outbox.feed(true, stop);
        feed.push((0..3).map(|id| message(id, 1_000)));
        assert_eq!(outbox.0.queue().no_room, 2);
        let feed = outbox.feed(true, Arc::default());
        let thread = std::thread::spawn(move || feed.push([message(3, 1_000)]));
        drop(outbox);
        thread.join().expect("it ends");
    }
}
