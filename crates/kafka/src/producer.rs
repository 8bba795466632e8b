//! Who takes messages.

use crate::Message;
use std::time::Duration;

/// What kept a message from being taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// No broker can be reached.
    Away,
    /// It does not answer in time.
    Slow,
    /// The topic is missing and cannot be created.
    NoTopic,
    /// This client may not write there.
    NotAllowed,
    /// Too few replicas are in sync.
    FewReplicas,
    /// The message is larger than the topic takes.
    TooLarge,
    /// The broker takes it for no message.
    Malformed,
    /// It refuses for another reason.
    Refused,
    /// The outbox cannot be read or written.
    Outbox,
}

impl Problem {
    /// Its name, as counters have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::Slow => "slow",
            Self::NoTopic => "no_topic",
            Self::NotAllowed => "not_allowed",
            Self::FewReplicas => "few_replicas",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::Refused => "refused",
            Self::Outbox => "outbox",
        }
    }

    /// True if the message itself is why: sending it again changes nothing.
    pub const fn is_of_message(self) -> bool {
        matches!(self, Self::TooLarge | Self::Malformed)
    }
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its kind.
    pub problem: Problem,
    /// In words, one line.
    pub reason: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(problem: Problem, reason: impl Into<String>) -> Self {
        // What a broker says is one line of a log.
        Self { problem, reason: reason.into().replace(['\n', '\r'], " ") }
    }
}

/// Takes messages and says of each whether it is safe.
pub trait Producer: Send {
    /// Hands over messages. Returns one result for each, in order; one that is refused may have arrived nevertheless. It takes not much longer
    /// than `patience`.
    fn produce(&mut self, messages: &[&Message], patience: Duration) -> Vec<Result<(), Refusal>>;
}

impl<P: Producer + ?Sized> Producer for Box<P> {
    fn produce(&mut self, messages: &[&Message], patience: Duration) -> Vec<Result<(), Refusal>> {
        (**self).produce(messages, patience)
    }
}
