//! What is told to all streams.
//!
//! The last messages are kept once, for all streams, and bounded by their size: `tokio`'s broadcast bounds their number alone, and an
//! answer may be of any size. A stream that is slower than they come finds out how many it missed.

use axum::body::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How much a feed keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) messages: usize,
    /// Of all messages but the newest.
    pub(crate) bytes: usize,
    pub(crate) streams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { messages: 16_384, bytes: 16 << 20, streams: 256 }
    }
}

/// The last messages.
#[derive(Debug)]
pub(crate) struct Feed {
    limits: Limits,
    kept: Mutex<Kept>,
    /// The number of the next message: changes wake streams.
    next: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    messages: VecDeque<Bytes>,
    bytes: usize,
    /// The number of the first of them.
    first: u64,
    streams: usize,
}

impl Kept {
    fn next(&self) -> u64 {
        self.first + self.messages.len() as u64
    }
}

impl Feed {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, kept: Mutex::default(), next: watch::Sender::new(0) })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a stream to tell anything.
    pub(crate) fn has_streams(&self) -> bool {
        self.kept().streams != 0
    }

    /// Tells all streams. Without a stream nothing is kept.
    pub(crate) fn tell(&self, message: Bytes) {
        let mut kept = self.kept();
        if kept.streams == 0 {
            return;
        }
        kept.bytes += message.len();
        kept.messages.push_back(message);
        while kept.messages.len() > self.limits.messages
            || kept.bytes > self.limits.bytes && kept.messages.len() > 1
        {
            kept.drop_first();
        }
        let next = kept.next();
        drop(kept);
        self.next.send_replace(next);
    }

    /// A new stream, from the next message on; `None` if there are too many.
    pub(crate) fn subscribe(self: &Arc<Self>) -> Option<Subscription> {
        let mut kept = self.kept();
        if kept.streams >= self.limits.streams {
            return None;
        }
        kept.streams += 1;
        let at = kept.next();
        drop(kept);
        Some(Subscription { changed: self.next.subscribe(), feed: Arc::clone(self), at })
    }
}

impl Kept {
    fn drop_first(&mut self) {
        if let Some(first) = self.messages.pop_front() {
            self.bytes -= first.len();
            self.first += 1;
        }
    }
}

/// What a stream finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next message.
    Message(Bytes),
    /// So many are kept no more.
    Missed(u64),
    /// It has all.
    Nothing,
}

/// The place of one stream in the feed.
#[derive(Debug)]
pub(crate) struct Subscription {
    feed: Arc<Feed>,
    changed: watch::Receiver<u64>,
    /// The number of its next message.
    at: u64,
}

impl Subscription {
    /// What comes next, without waiting.
    pub(crate) fn take(&mut self) -> Next {
        // Before the messages are looked at: one that comes after them wakes.
        self.changed.mark_unchanged();
        let kept = self.feed.kept();
        let Some(at) = self.at.checked_sub(kept.first) else {
            let missed = kept.first - self.at;
            self.at = kept.first;
            return Next::Missed(missed);
        };
        match kept.messages.get(at as usize) {
            Some(message) => {
                self.at += 1;
                Next::Message(message.clone())
            }
            None => Next::Nothing,
        }
    }

    /// Waits until there may be something.
    pub(crate) async fn wait(&mut self) {
        // The sender is in the feed, which this holds.
        let _ = self.changed.changed().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut kept = self.feed.kept();
        kept.streams -= 1;
        if kept.streams == 0 {
            let next = kept.next();
            *kept = Kept { first: next, ..Kept::default() };
        }
    }
}
