//! The way of the messages of one outbox to the producer. It has no thread.

use crate::{KafkaProblem, Message, MessageBatch, Outbox, ProduceError, Producer};
use model::view::Delivered;
use std::time::{Duration, Instant};

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryStep {
    /// The step had nothing to do.
    Idle,
    /// A batch is done.
    Done,
    /// Part of the batch was not taken: the rest is to be tried again.
    Failed(ProduceError),
}

/// An outbox, and the batch of it that is on its way.
pub(crate) struct OutboxDelivery {
    outbox: Box<dyn Outbox>,
    batch: MessageBatch,
    /// The numbers of the messages that were not taken yet.
    open: Vec<usize>,
    /// True if some of these were handed over before.
    is_again: bool,
    /// The messages of the batch that were given up, and why: said once.
    pub(crate) given_up: Vec<String>,
}

impl OutboxDelivery {
    pub(crate) fn new(outbox: Box<dyn Outbox>) -> Self {
        Self {
            outbox,
            batch: MessageBatch::default(),
            open: Vec::new(),
            is_again: false,
            given_up: Vec::new(),
        }
    }

    /// Returns the number of messages that are not delivered, with what they are in words.
    pub(crate) fn waiting(&mut self) -> (&'static str, u64) {
        (self.outbox.what(), self.outbox.waiting())
    }

    /// Delivers what is left of the batch, or the next one.
    pub(crate) fn step(
        &mut self,
        producer: &mut dyn Producer,
        counts: &mut Delivered,
        patience: Duration,
    ) -> DeliveryStep {
        if self.batch.is_empty() {
            match self.outbox.next() {
                Ok(batch) if batch.is_empty() => return DeliveryStep::Idle,
                Ok(batch) => {
                    self.open = (0..batch.messages.len()).collect();
                    (self.batch, self.is_again) = (batch, false);
                }
                Err(reason) => return failed(counts, ProduceError::new(KafkaProblem::Outbox, reason)),
            }
        } else if let Ok(gone) = self.outbox.look() {
            // An outbox that cannot be read is told of once it is asked for the next batch.
            gone.into_iter().for_each(|(reason, number)| counts.lost.count(reason, number));
        }
        if let Some(refusal) = self.send(producer, counts, patience) {
            return failed(counts, refusal);
        }
        if let Err(reason) = self.outbox.acknowledge() {
            return failed(counts, ProduceError::new(KafkaProblem::Outbox, reason));
        }
        for (reason, number) in std::mem::take(&mut self.batch).lost {
            counts.lost.count(reason, number);
        }
        DeliveryStep::Done
    }

    /// Counts what the batch that is under way says is lost.
    pub(crate) fn abandon(&mut self, counts: &mut Delivered) {
        for (reason, number) in self.batch.lost.drain(..) {
            counts.lost.count(reason, number);
        }
    }

    /// Sends what is open. Returns why not all of it is done with.
    fn send(
        &mut self,
        producer: &mut dyn Producer,
        counts: &mut Delivered,
        patience: Duration,
    ) -> Option<ProduceError> {
        if self.open.is_empty() {
            return None;
        }
        let open = std::mem::take(&mut self.open);
        if self.is_again {
            counts.again += open.len() as u64;
        }
        self.is_again = true;
        let deadline = Instant::now().checked_add(patience);
        let left = || deadline.map_or(patience, |at| at.saturating_duration_since(Instant::now()));
        let messages: Vec<&Message> = open.iter().map(|at| &self.batch.messages[*at]).collect();
        let results = producer.produce(&messages, patience);
        let mut first = None;
        let mut results = results.into_iter();
        for at in open {
            let message = &self.batch.messages[at];
            // Who says nothing of a message has not taken it.
            let unsaid =
                || Err(ProduceError::new(KafkaProblem::Refused, "the broker says nothing of a message"));
            let result = results.next().unwrap_or_else(unsaid);
            let result = match result {
                // The messages around it may be what was too much.
                Err(refusal) if refusal.problem.is_of_message() => match left() {
                    // It is sent again in the next step.
                    Duration::ZERO => Err(ProduceError::new(KafkaProblem::Slow, refusal.reason)),
                    left => producer.produce(&[message], left).into_iter().next().unwrap_or(Err(refusal)),
                },
                result => result,
            };
            match result {
                Ok(()) => {
                    counts.delivered += 1;
                    counts.bytes += message.value.len() as u64;
                }
                Err(refusal) if refusal.problem.is_of_message() => {
                    counts.lost.count(refusal.problem.name(), 1);
                    let topic = message.topic.name();
                    self.given_up.push(format!("a message of {topic} is given up: {}", refusal.reason));
                }
                Err(refusal) => {
                    self.open.push(at);
                    first.get_or_insert(refusal);
                }
            }
        }
        first
    }
}

fn failed(counts: &mut Delivered, refusal: ProduceError) -> DeliveryStep {
    counts.problems.count(refusal.problem.name(), 1);
    DeliveryStep::Failed(refusal)
}
