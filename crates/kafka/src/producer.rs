//! The trait of those who take messages, and the reasons why they do not.

use crate::Message;
use std::time::Duration;

/// The kind of reason why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KafkaProblem {
    /// No broker can be reached.
    Away,
    /// The broker does not answer in time.
    Slow,
    /// The topic is missing and cannot be created.
    NoTopic,
    /// The client may not write to the topic.
    NotAllowed,
    /// Too few replicas are in sync.
    FewReplicas,
    /// The message is larger than the topic takes.
    TooLarge,
    /// The broker does not take the message for one.
    Malformed,
    /// The broker refuses the message for another reason.
    Refused,
    /// The outbox cannot be read or written.
    Outbox,
}

impl KafkaProblem {
    /// Returns the name of the problem, as counters have it.
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

/// The reason why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProduceError {
    /// The kind of the problem.
    pub problem: KafkaProblem,
    /// The reason in words, one line.
    pub reason: String,
}

impl ProduceError {
    /// A refusal.
    pub fn new(problem: KafkaProblem, reason: impl Into<String>) -> Self {
        // What a broker says is one line of a log.
        Self { problem, reason: reason.into().replace(['\n', '\r'], " ") }
    }
}

/// Takes messages and says of each whether it is safe.
pub trait Producer: Send {
    /// Hands over messages. Returns one result for each, in order; one that is refused may have arrived nevertheless. It takes not much longer
    /// than `patience`.
    fn produce(&mut self, messages: &[&Message], patience: Duration) -> Vec<Result<(), ProduceError>>;
}

impl<P: Producer + ?Sized> Producer for Box<P> {
    fn produce(&mut self, messages: &[&Message], patience: Duration) -> Vec<Result<(), ProduceError>> {
        (**self).produce(messages, patience)
    }
}
