//! What a probe has sent and the broker has not confirmed.

use crate::envelope::{self, Head, PackedBody};
use crate::{Boot, FromProbe, MessageId, Spool};
use std::collections::VecDeque;
use std::io;

/// The most messages that are on their way at once.
pub(super) const MOST_IN_FLIGHT: usize = 64;

/// A message that has not been confirmed.
#[derive(Debug)]
struct Item {
    sequence: u64,
    body: PackedBody,
    is_result: bool,
    /// What its envelope says, from the first time on that it was sent: it may have arrived.
    said: Option<Said>,
}

#[derive(Clone, Copy, Debug)]
struct Said {
    after: u64,
    lost: u64,
}

/// A message as it is sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) id: MessageId,
    pub(super) bytes: Vec<u8>,
}

/// What a probe has sent and the broker has not confirmed, in order, within a limit.
#[derive(Debug)]
pub(super) struct Outbox {
    node: String,
    boot: Boot,
    items: VecDeque<Item>,
    /// The number of messages, from the first on, that are sent and not confirmed.
    in_flight: usize,
    bytes: usize,
    most_bytes: usize,
    last_sequence: u64,
    dropped: u64,
    /// The newest one, until it is sent.
    heartbeat: Option<PackedBody>,
}

impl Outbox {
    pub(super) fn new(node: String, boot: Boot, most_bytes: usize) -> Self {
        Self {
            node,
            boot,
            items: VecDeque::new(),
            in_flight: 0,
            bytes: 0,
            most_bytes,
            last_sequence: 0,
            dropped: 0,
            heartbeat: None,
        }
    }

    /// Takes a message whose body is packed: packing takes time, which others that look at the outbox need not wait for.
    pub(super) fn push(&mut self, message: &FromProbe, body: io::Result<PackedBody>) {
        let is_result = matches!(message, FromProbe::Window(_));
        let Ok(body) = body else {
            self.dropped += u64::from(is_result);
            return;
        };
        if matches!(message, FromProbe::Heartbeat(_)) {
            self.heartbeat = Some(body);
            return;
        }
        self.bytes += body.len();
        self.last_sequence += 1;
        self.items.push_back(Item { sequence: self.last_sequence, body, is_result, said: None });
        while self.bytes > self.most_bytes && self.drop_oldest() {}
    }

    /// Drops the oldest window result that has never been sent.
    fn drop_oldest(&mut self) -> bool {
        // One that was sent may have arrived: what is said of it must stay true.
        let at = self.items.iter().position(|item| item.is_result && item.said.is_none());
        let Some(item) = at.and_then(|at| self.items.remove(at)) else { return false };
        self.bytes -= item.body.len();
        self.dropped += 1;
        true
    }

    /// The next message that may be sent.
    pub(super) fn next(&mut self) -> io::Result<Option<Outgoing>> {
        if self.in_flight == MOST_IN_FLIGHT {
            return Ok(None);
        }
        let before = self.in_flight.checked_sub(1).map_or(0, |before| self.items[before].sequence);
        let Some(item) = self.items.get_mut(self.in_flight) else { return Ok(None) };
        let Said { after, lost } = *item.said.get_or_insert(Said { after: before, lost: self.dropped });
        let id = MessageId { node: self.node.clone(), boot: self.boot, sequence: item.sequence };
        let bytes = envelope::seal(&Head { version: envelope::VERSION, id: &id, after, lost }, &item.body)?;
        self.in_flight += 1;
        Ok(Some(Outgoing { id, bytes }))
    }

    /// The heartbeat that is to be sent, once.
    pub(super) fn take_heartbeat(&mut self) -> io::Result<Option<Outgoing>> {
        let Some(body) = self.heartbeat.take() else { return Ok(None) };
        let id = MessageId { node: self.node.clone(), boot: self.boot, sequence: 0 };
        let bytes = envelope::seal(&Head { version: envelope::VERSION, id: &id, after: 0, lost: 0 }, &body)?;
        Ok(Some(Outgoing { id, bytes }))
    }

    /// The first message on its way has arrived.
    pub(super) fn confirm(&mut self) {
        if let Some(item) = self.items.pop_front() {
            self.bytes -= item.body.len();
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }

    /// Whether those on their way have arrived is not known: they are to be sent again, in order.
    pub(super) fn rewind(&mut self) {
        self.in_flight = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn spool(&self) -> Spool {
        Spool { messages: self.items.len() as u64, bytes: self.bytes as u64, dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{Properties, decode};
    use crate::{Envelope, Heartbeat, WindowResult};
    use report::Span;

    fn outbox(most_bytes: usize) -> Outbox {
        Outbox::new("Node1".to_owned(), Boot(1), most_bytes)
    }

    fn send(outbox: &mut Outbox, message: FromProbe) {
        let body = PackedBody::new(&message);
        outbox.push(&message, body);
    }

    fn window(number: u64) -> FromProbe {
        let window = Span { start_ns: number, end_ns: number + 1 };
        FromProbe::Window(Box::new(WindowResult::new(window, Vec::new())))
    }

    fn next(outbox: &mut Outbox) -> Option<Envelope<FromProbe>> {
        let outgoing = outbox.next().expect("bytes")?;
        let envelope = decode(&outgoing.bytes, Properties::EXPECTED).expect("a message");
        assert_eq!(outgoing.id, envelope.id);
        Some(envelope)
    }

    fn sent(outbox: &mut Outbox) -> Vec<(u64, u64, u64)> {
        std::iter::from_fn(|| next(outbox)).map(|one| (one.id.sequence, one.after, one.lost)).collect()
    }

    #[test]
    fn messages_stay_until_they_are_confirmed() {
        let mut outbox = outbox(1 << 20);
        (0..3).for_each(|number| send(&mut outbox, window(number)));
        // Each says which one was still on its way before it.
        assert_eq!(sent(&mut outbox), [(1, 0, 0), (2, 1, 0), (3, 2, 0)]);
        outbox.confirm();
        send(&mut outbox, window(3));
        outbox.rewind();
        // What was said once is said again: 1 had not been confirmed when 2 was sent.
        assert_eq!(sent(&mut outbox), [(2, 1, 0), (3, 2, 0), (4, 3, 0)]);
        (0..3).for_each(|_| outbox.confirm());
        send(&mut outbox, window(4));
        assert_eq!(sent(&mut outbox), [(5, 0, 0)]);
        outbox.confirm();
        assert_eq!(outbox.spool(), Spool::default());
        assert!(outbox.is_empty());
    }

    #[test]
    fn no_more_are_on_their_way_than_may_be() {
        let mut outbox = outbox(1 << 20);
        (0..100).for_each(|number| send(&mut outbox, window(number)));
        assert_eq!(sent(&mut outbox).len(), MOST_IN_FLIGHT);
        outbox.confirm();
        assert_eq!(sent(&mut outbox).len(), 1);
    }

    #[test]
    fn a_full_spool_drops_the_oldest_results_and_says_so() {
        let size = PackedBody::new(&window(0)).expect("bytes").len();
        // Compressed, results differ by a few bytes.
        let mut outbox = outbox(3 * size + 10);
        send(&mut outbox, window(0));
        assert_eq!(sent(&mut outbox), [(1, 0, 0)]);
        (1..6).for_each(|number| send(&mut outbox, window(number)));
        // That which is on its way stays, and two others.
        let Spool { messages, bytes, dropped } = outbox.spool();
        assert!((messages, dropped) == (3, 3) && bytes <= 3 * size as u64 + 10, "{:?}", outbox.spool());
        assert_eq!(sent(&mut outbox), [(5, 1, 3), (6, 5, 3)]);
        // What is no result is never dropped.
        let reached = FromProbe::Reached { at_ns: 7 };
        (0..50).for_each(|_| send(&mut outbox, reached.clone()));
        send(&mut outbox, window(6));
        assert_eq!((outbox.spool().messages, outbox.spool().dropped), (53, 4));
        outbox.rewind();
        let again = sent(&mut outbox);
        assert_eq!(again[..4], [(1, 0, 0), (5, 1, 3), (6, 5, 3), (7, 6, 4)]);
    }

    #[test]
    fn only_the_newest_heartbeat_is_sent_and_once() {
        let mut outbox = outbox(1 << 20);
        for started_ns in [1, 2] {
            send(
                &mut outbox,
                FromProbe::Heartbeat(Box::new(Heartbeat { started_ns, ..Heartbeat::default() })),
            );
        }
        assert!(outbox.is_empty());
        let outgoing = outbox.take_heartbeat().expect("bytes").expect("a heartbeat");
        let read = decode::<FromProbe>(&outgoing.bytes, Properties::EXPECTED).expect("a message");
        assert!(matches!(read.body, FromProbe::Heartbeat(heartbeat) if heartbeat.started_ns == 2));
        assert_eq!(read.id.sequence, 0);
        assert!(outbox.take_heartbeat().expect("bytes").is_none());
    }

    #[test]
    fn what_cannot_be_written_is_counted() {
        use report::{Answer, Column, ColumnKind};
        let mut outbox = outbox(1 << 20);
        let column = Column::new("n", ColumnKind::Unsigned, "");
        let answer = Answer::new("q", None, vec![column], vec![Vec::new()]);
        let window = Span { start_ns: 0, end_ns: 1 };
        send(&mut outbox, FromProbe::Window(Box::new(WindowResult::new(window, vec![answer]))));
        assert_eq!(outbox.spool(), Spool { dropped: 1, ..Spool::default() });
    }
}
