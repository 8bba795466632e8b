//! The feed of all streams.
//!
//! The last messages are kept once, for all streams, and bounded by their size: `tokio`'s broadcast bounds their number alone, and an
//! answer may be of any size. A stream that is slower than they come finds out how many it missed.

use axum::body::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The limits of what a feed keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BacklogLimits {
    pub(crate) messages: usize,
    /// The bytes of all messages but the newest.
    pub(crate) bytes: usize,
    pub(crate) streams: usize,
}

impl Default for BacklogLimits {
    fn default() -> Self {
        Self { messages: 16_384, bytes: 16 << 20, streams: 256 }
    }
}

/// The form of what a stream is told of the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StreamForm {
    /// All of it, each time.
    #[default]
    Whole,
    /// Of the nodes those that changed.
    Changes,
}

impl StreamForm {
    /// The list of all forms.
    const ALL: [Self; 2] = [Self::Whole, Self::Changes];
}

/// A message in each form; `None` where no stream was told that form.
#[derive(Clone, Debug)]
struct FormedMessage([Option<Bytes>; 2]);

impl FormedMessage {
    /// Returns the number of bytes. Forms that are the same are there once.
    fn len(&self) -> usize {
        match &self.0 {
            [Some(whole), Some(changes)] if whole.as_ptr() == changes.as_ptr() => whole.len(),
            forms => forms.iter().flatten().map(Bytes::len).sum(),
        }
    }
}

/// The last messages.
#[derive(Debug)]
pub(crate) struct StreamBacklog {
    limits: BacklogLimits,
    kept: Mutex<BacklogState>,
    /// The number of the next message: changes wake streams.
    next: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct BacklogState {
    messages: VecDeque<FormedMessage>,
    bytes: usize,
    /// The number of the first of them.
    first: u64,
    /// The numbers of streams of each form.
    streams: [usize; 2],
}

impl BacklogState {
    fn next(&self) -> u64 {
        self.first + self.messages.len() as u64
    }

    fn has_streams(&self) -> bool {
        self.streams != [0; 2]
    }
}

impl StreamBacklog {
    pub(crate) fn new(limits: BacklogLimits) -> Arc<Self> {
        Arc::new(Self { limits, kept: Mutex::default(), next: watch::Sender::new(0) })
    }

    fn kept(&self) -> MutexGuard<'_, BacklogState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if there is a stream to tell anything.
    pub(crate) fn has_streams(&self) -> bool {
        self.kept().has_streams()
    }

    /// Returns true if there is a stream of this form.
    pub(crate) fn has_streams_of(&self, form: StreamForm) -> bool {
        self.kept().streams[form as usize] != 0
    }

    /// Tells all streams. Without a stream nothing is kept.
    pub(crate) fn tell(&self, message: Bytes) {
        self.tell_formed(StreamForm::ALL.map(|_| Some(message.clone())));
    }

    /// Tells the streams of each form a message, in the order of forms.
    pub(crate) fn tell_formed(&self, message: [Option<Bytes>; 2]) {
        let mut kept = self.kept();
        if !kept.has_streams() {
            return;
        }
        let message = FormedMessage(message);
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
    pub(crate) fn subscribe(self: &Arc<Self>, form: StreamForm) -> Option<Subscription> {
        let mut kept = self.kept();
        if kept.streams.iter().sum::<usize>() >= self.limits.streams {
            return None;
        }
        kept.streams[form as usize] += 1;
        let at = kept.next();
        drop(kept);
        Some(Subscription { changed: self.next.subscribe(), feed: Arc::clone(self), at, form })
    }
}

impl BacklogState {
    fn drop_first(&mut self) {
        if let Some(first) = self.messages.pop_front() {
            self.bytes -= first.len();
            self.first += 1;
        }
    }
}

/// The next thing that a stream finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextMessage {
    /// The next message.
    Message(Bytes),
    /// The number of messages that are kept no more.
    Missed(u64),
    /// The stream has all messages.
    Nothing,
}

/// The place of one stream in the feed.
#[derive(Debug)]
pub(crate) struct Subscription {
    feed: Arc<StreamBacklog>,
    changed: watch::Receiver<u64>,
    /// The number of its next message.
    at: u64,
    form: StreamForm,
}

impl Subscription {
    /// Takes the next message, without waiting.
    pub(crate) fn take(&mut self) -> NextMessage {
        // Before the messages are looked at: one that comes after them wakes.
        self.changed.mark_unchanged();
        let kept = self.feed.kept();
        let Some(at) = self.at.checked_sub(kept.first) else {
            let missed = kept.first - self.at;
            self.at = kept.first;
            return NextMessage::Missed(missed);
        };
        for message in kept.messages.range(at as usize..) {
            self.at += 1;
            if let Some(message) = &message.0[self.form as usize] {
                return NextMessage::Message(message.clone());
            }
        }
        NextMessage::Nothing
    }

    /// Returns the form of what it is told of the status.
    pub(crate) fn form(&self) -> StreamForm {
        self.form
    }

    /// Waits until there may be another message.
    pub(crate) async fn wait(&mut self) {
        // The sender is in the feed, which this holds.
        let _ = self.changed.changed().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut kept = self.feed.kept();
        kept.streams[self.form as usize] -= 1;
        if !kept.has_streams() {
            let next = kept.next();
            *kept = BacklogState { first: next, ..BacklogState::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BacklogLimits = BacklogLimits { messages: 4, bytes: 10, streams: 2 };

    fn bytes(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn streams_read_at_their_own_pace_and_learn_what_they_missed() {
        let feed = StreamBacklog::new(LIMITS);
        feed.tell(bytes("before"));
        let mut slow = feed.subscribe(StreamForm::Whole).expect("a stream");
        let mut quick = feed.subscribe(StreamForm::Whole).expect("a stream");
        for number in 0..7 {
            feed.tell(bytes(&number.to_string()));
            assert_eq!(quick.take(), NextMessage::Message(bytes(&number.to_string())));
            assert_eq!(quick.take(), NextMessage::Nothing);
        }
        assert_eq!(slow.take(), NextMessage::Missed(3));
        for number in 3..7 {
            assert_eq!(slow.take(), NextMessage::Message(bytes(&number.to_string())));
        }
        assert_eq!(slow.take(), NextMessage::Nothing);
    }

    #[test]
    fn large_messages_push_out_others_and_the_newest_is_kept_however_large() {
        let feed = StreamBacklog::new(LIMITS);
        let mut slow = feed.subscribe(StreamForm::Whole).expect("a stream");
        ["123456", "1234", "1"].iter().for_each(|text| feed.tell(bytes(text)));
        assert_eq!(slow.take(), NextMessage::Missed(1));
        let huge = "x".repeat(1_000);
        feed.tell(bytes(&huge));
        assert_eq!(slow.take(), NextMessage::Missed(2));
        assert_eq!(slow.take(), NextMessage::Message(bytes(&huge)));
        assert_eq!(feed.kept().bytes, huge.len());
        feed.tell(bytes("1"));
        assert_eq!(feed.kept().bytes, 1);
        assert_eq!(slow.take(), NextMessage::Message(bytes("1")));
    }

    #[test]
    fn each_stream_is_told_its_form() {
        let feed = StreamBacklog::new(LIMITS);
        let mut whole = feed.subscribe(StreamForm::Whole).expect("a stream");
        let mut changes = feed.subscribe(StreamForm::Changes).expect("a stream");
        assert!(feed.has_streams_of(StreamForm::Changes));
        feed.tell_formed([Some(bytes("al")), Some(bytes("c"))]);
        feed.tell_formed([Some(bytes("al")), None]);
        feed.tell(bytes("both"));
        for (stream, expected) in [(&mut whole, vec!["al", "al", "both"]), (&mut changes, vec!["c", "both"])]
        {
            for text in expected {
                assert_eq!(stream.take(), NextMessage::Message(bytes(text)));
            }
            assert_eq!(stream.take(), NextMessage::Nothing);
        }
        // One text for both forms is there once.
        assert_eq!(feed.kept().bytes, 2 + 1 + 2 + 4);
        drop(changes);
        assert!(!feed.has_streams_of(StreamForm::Changes));
    }

    #[test]
    fn places_are_given_back_and_nothing_is_kept_for_nobody() {
        let feed = StreamBacklog::new(LIMITS);
        let (first, second) =
            (feed.subscribe(StreamForm::Whole), feed.subscribe(StreamForm::Whole).expect("a stream"));
        assert!(first.is_some() && feed.subscribe(StreamForm::Whole).is_none());
        drop(first);
        feed.tell(bytes("1"));
        let mut third = feed.subscribe(StreamForm::Whole).expect("there is room");
        assert_eq!(third.take(), NextMessage::Nothing);
        drop((second, third));
        assert!(!feed.has_streams() && feed.kept().messages.is_empty());
        feed.tell(bytes("2"));
        assert_eq!(feed.subscribe(StreamForm::Whole).expect("a stream").take(), NextMessage::Nothing);
    }
}
