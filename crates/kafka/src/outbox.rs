//! The place where messages wait.

use crate::Message;

/// Messages, and what went missing on the way to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageBatch {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The numbers of messages that there will not be, by reason. They are counted when the batch is acknowledged.
    pub lost: Vec<(&'static str, u64)>,
}

impl MessageBatch {
    /// True if there is nothing to send and nothing to count.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.lost.is_empty()
    }
}

/// Keeps messages until they are acknowledged.
pub trait Outbox: Send {
    /// Returns a noun in the plural for the contents of the outbox, for a sentence that counts them.
    fn what(&self) -> &'static str;

    /// The next messages: those after the last batch that was acknowledged. Empty where there are none at present. Until one is acknowledged
    /// it is not asked again; by another process that comes after this one it is.
    ///
    /// # Errors
    /// One line: it cannot be read. It is asked again later.
    fn next(&mut self) -> Result<MessageBatch, String>;

    /// Looks what has gone while a batch cannot be delivered: what there will be no message of, by reason, which is counted at once.
    ///
    /// # Errors
    /// One line: it cannot be read.
    fn look(&mut self) -> Result<Vec<(&'static str, u64)>, String> {
        Ok(Vec::new())
    }

    /// Notes that everything of the last batch was delivered or given up.
    ///
    /// # Errors
    /// One line: this cannot be noted. It is told again later.
    fn acknowledge(&mut self) -> Result<(), String>;

    /// Returns the number of messages that wait and were not acknowledged.
    fn waiting(&mut self) -> u64;
}
