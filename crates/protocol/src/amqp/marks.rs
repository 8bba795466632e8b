//! The last message that was taken of each probe.

use super::outbox::MOST_IN_FLIGHT;
use crate::{Boot, MessageId};
use std::collections::VecDeque;

/// The starts of a probe that are remembered. A probe sends what its file kept of earlier starts before what is its own, so that messages of
/// as many starts may come again as messages are on their way at once, or are delivered ahead of their acknowledgement.
const MOST_BOOTS: usize = 512;

/// The decision on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceDecision {
    /// The message is the next one.
    Next,
    /// The message was taken before.
    Doubled,
    /// A message before this one is still to come, and this one comes again after that.
    Early,
}

#[derive(Clone, Copy, Debug)]
struct BootOffset {
    boot: Boot,
    /// The sequence number of the last message that was taken.
    last: u64,
    /// The number of messages since then that were early.
    early: usize,
}

/// The last message of each start of a probe.
#[derive(Clone, Debug, Default)]
pub(super) struct DeliveryOffsets {
    /// The newest last.
    boots: VecDeque<BootOffset>,
}

impl DeliveryOffsets {
    /// Marks all messages up to this one as taken before.
    pub(super) fn begin_after(&mut self, id: &MessageId) {
        match self.boots.iter_mut().rev().find(|mark| mark.boot == id.boot) {
            Some(mark) => mark.last = mark.last.max(id.sequence),
            None => self.add(id.boot, id.sequence),
        }
    }

    fn add(&mut self, boot: Boot, last: u64) {
        if self.boots.len() == MOST_BOOTS {
            self.boots.pop_front();
        }
        self.boots.push_back(BootOffset { boot, last, early: 0 });
    }

    /// Takes a message, if it is its turn. `after`: what its envelope says.
    pub(super) fn take(&mut self, id: &MessageId, after: u64) -> SequenceDecision {
        let Some(mark) = self.boots.iter_mut().rev().find(|mark| mark.boot == id.boot) else {
            self.add(id.boot, id.sequence);
            return SequenceDecision::Next;
        };
        if id.sequence <= mark.last {
            return SequenceDecision::Doubled;
        }
        // The broker refused one before it, whose sender sends both again. No more can have been on their way behind that one: if more
        // come, it was taken from the queue by someone else, and does not come.
        if after > mark.last && mark.early + 1 < MOST_IN_FLIGHT {
            mark.early += 1;
            return SequenceDecision::Early;
        }
        (mark.last, mark.early) = (id.sequence, 0);
        SequenceDecision::Next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(boot: u64, sequence: u64) -> MessageId {
        MessageId { node: "Node1".to_owned(), boot: Boot(boot), sequence }
    }

    #[test]
    fn each_message_is_taken_once_and_in_order() {
        let mut marks = DeliveryOffsets::default();
        let mut take = |boot, sequence, after| marks.take(&id(boot, sequence), after);
        assert_eq!(take(1, 1, 0), SequenceDecision::Next);
        assert_eq!(take(1, 1, 0), SequenceDecision::Doubled);
        // 2 was refused by the broker: 3 waits for it, 4 for 3.
        assert_eq!((take(1, 3, 2), take(1, 4, 3)), (SequenceDecision::Early, SequenceDecision::Early));
        assert_eq!(
            (take(1, 2, 1), take(1, 3, 2), take(1, 4, 3)),
            (SequenceDecision::Next, SequenceDecision::Next, SequenceDecision::Next)
        );
        // 5 to 8 were dropped by their sender.
        assert_eq!((take(1, 9, 4), take(1, 10, 0)), (SequenceDecision::Next, SequenceDecision::Next));
        assert_eq!(
            (take(2, 1, 0), take(1, 10, 0), take(2, 2, 0)),
            (SequenceDecision::Next, SequenceDecision::Doubled, SequenceDecision::Next)
        );
    }

    #[test]
    fn nothing_is_awaited_for_ever() {
        let mut marks = DeliveryOffsets::default();
        assert_eq!(marks.take(&id(1, 1), 0), SequenceDecision::Next);
        let early = (3..)
            .take_while(|sequence| marks.take(&id(1, *sequence), sequence - 1) == SequenceDecision::Early)
            .count();
        assert_eq!(early, MOST_IN_FLIGHT - 1);
        assert_eq!(marks.take(&id(1, 67), 66), SequenceDecision::Next);
    }

    #[test]
    fn what_was_stored_before_is_doubled() {
        let mut marks = DeliveryOffsets::default();
        marks.begin_after(&id(1, 7));
        marks.begin_after(&id(1, 5));
        assert_eq!(
            (marks.take(&id(1, 7), 0), marks.take(&id(1, 8), 7)),
            (SequenceDecision::Doubled, SequenceDecision::Next)
        );
        (2..1000).for_each(|boot| assert_eq!(marks.take(&id(boot, 1), 0), SequenceDecision::Next));
        assert_eq!(marks.boots.len(), MOST_BOOTS);
    }
}
