//! The outbox of a probe: the messages that it has sent and the broker has not confirmed.

mod in_file;

use super::spool_log::StoredMessage;
use crate::envelope::{self, EnvelopeHead, PackedBody};
use crate::spool_format::{NodeMessageId, SpoolTotals};
use crate::{Boot, FromProbe, MessageId};
use in_file::InFile;
use model::view::Spool;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most messages that are on their way at once.
pub(super) const MOST_IN_FLIGHT: usize = 64;
/// The longest time that a message which is to be sent waits for a disk that does not answer.
const DISK_TIMEOUT: Duration = Duration::from_secs(1);

/// A message that has not been confirmed.
#[derive(Debug)]
struct UnconfirmedMessage {
    /// The place of the message among all that were ever here, in order.
    place: u64,
    which: NodeMessageId,
    body: Arc<PackedBody>,
    is_result: bool,
    /// The values of the message's envelope, from the time on that it is to be sent: it may have arrived.
    said: Option<EnvelopeValues>,
    /// True if `said` is in the file, or if there is no file.
    may_go: bool,
    /// True if the message is in the file, or being written there.
    is_in_file: bool,
}

#[derive(Clone, Copy, Debug)]
struct EnvelopeValues {
    after: u64,
    lost: u64,
}

/// A message as it is sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) id: MessageId,
    pub(super) bytes: Vec<u8>,
}

/// The messages that a probe has sent and the broker has not confirmed, in order, within a limit.
///
/// Messages of earlier starts, which the file kept, come first. What the file is to be told is taken by [`ProbeOutbox::take_batch`]; what the
/// envelope of a message says is there before the message is sent.
#[derive(Debug)]
pub(super) struct ProbeOutbox {
    node: String,
    boot: Boot,
    items: VecDeque<UnconfirmedMessage>,
    next_place: u64,
    /// The place before which all results are as short as they get, or sent.
    short_until: u64,
    /// The number of messages, from the first on, that are sent and not confirmed.
    in_flight: usize,
    /// The start of which a message was confirmed since the connection began. A controller that knows nothing of a start begins with the
    /// message of it that it is given first: none goes out behind one that may be refused.
    begun: Option<Boot>,
    bytes: usize,
    most_bytes: usize,
    last_sequence: u64,
    totals: SpoolTotals,
    unwritten: u64,
    file: Option<InFile>,
    /// The newest one, until it is sent.
    heartbeat: Option<PackedBody>,
}

impl ProbeOutbox {
    pub(super) fn new(node: String, boot: Boot, most_bytes: usize) -> Self {
        Self {
            node,
            boot,
            items: VecDeque::new(),
            next_place: 0,
            short_until: 0,
            in_flight: 0,
            begun: None,
            bytes: 0,
            most_bytes,
            last_sequence: 0,
            totals: SpoolTotals::default(),
            unwritten: 0,
            file: None,
            heartbeat: None,
        }
    }

    /// Goes on with what a file has kept. `fault`: why nothing can be written to it.
    pub(super) fn go_on(&mut self, messages: Vec<StoredMessage>, totals: SpoolTotals, fault: Option<String>) {
        self.totals = totals;
        self.file = Some(InFile { is_working: fault.is_none(), fault, ..InFile::default() });
        for StoredMessage { which, is_result, body, said } in messages {
            let said = said.map(|(after, lost)| EnvelopeValues { after, lost });
            self.add(UnconfirmedMessage {
                place: 0,
                which,
                body,
                is_result,
                said,
                may_go: said.is_some(),
                is_in_file: true,
            });
        }
        self.bound();
    }

    fn add(&mut self, item: UnconfirmedMessage) {
        self.bytes += item.body.len();
        self.items.push_back(UnconfirmedMessage { place: self.next_place, ..item });
        self.next_place += 1;
    }

    /// The file, if it takes what it is told.
    fn working_file(&mut self) -> Option<&mut InFile> {
        self.file.as_mut().filter(|file| file.is_working)
    }

    /// Takes a message whose body is packed: packing takes time, which others that look at the outbox need not wait for.
    pub(super) fn push(&mut self, message: &FromProbe, body: io::Result<PackedBody>) {
        let is_result = matches!(message, FromProbe::Window(_));
        let Ok(body) = body else {
            self.drop_one(u64::from(is_result));
            return;
        };
        if matches!(message, FromProbe::Heartbeat(_)) {
            self.heartbeat = Some(body);
            return;
        }
        self.last_sequence += 1;
        let which = NodeMessageId { boot: self.boot, sequence: self.last_sequence };
        let (place, body) = (self.next_place, Arc::new(body));
        match self.working_file() {
            Some(file) => {
                file.unwritten.messages.insert(place);
            }
            None => self.unwritten += u64::from(self.file.is_some()),
        }
        self.add(UnconfirmedMessage {
            place,
            which,
            body,
            is_result,
            said: None,
            may_go: false,
            is_in_file: false,
        });
        self.bound();
    }

    fn bound(&mut self) {
        while self.bytes > self.most_bytes && self.drop_oldest() {}
    }

    /// Drops the oldest window result that has never been sent.
    fn drop_oldest(&mut self) -> bool {
        // One that was sent may have arrived: what is said of it must stay true.
        let at = self.items.iter().position(|item| item.is_result && item.said.is_none());
        let Some(item) = at.and_then(|at| self.items.remove(at)) else { return false };
        self.drop_one(1);
        self.forget(item);
        true
    }

    /// Returns true if there is so little room left that results are to be shortened, and may be some that can be.
    pub(super) fn is_to_shorten(&self) -> bool {
        self.bytes > self.most_bytes / 4 * 3 && self.short_until < self.next_place
    }

    /// The oldest result that may be long and has never been sent, to be shortened, and its place.
    pub(super) fn take_long(&mut self) -> Option<(u64, Arc<PackedBody>)> {
        let from = self.items.partition_point(|item| item.place < self.short_until);
        let item = self.items.range(from..).find(|item| item.is_result && item.said.is_none());
        self.short_until = item.map_or(self.next_place, |item| item.place + 1);
        item.map(|item| (item.place, Arc::clone(&item.body)))
    }

    /// Replaces a result by a shorter one, unless it has gone meanwhile.
    pub(super) fn shorten(&mut self, place: u64, body: PackedBody) {
        let Ok(at) = self.items.binary_search_by_key(&place, |item| item.place) else { return };
        let item = &mut self.items[at];
        if item.said.is_some() {
            return;
        }
        self.bytes = self.bytes - item.body.len() + body.len();
        item.body = Arc::new(body);
        self.totals.shortened += 1;
        if let Some(file) = self.working_file() {
            file.unwritten.messages.insert(place);
            file.unwritten.totals = true;
        }
    }

    fn drop_one(&mut self, count: u64) {
        self.totals.dropped += count;
        if let Some(file) = self.working_file() {
            file.unwritten.totals = true;
        }
    }

    /// A message is there no more.
    fn forget(&mut self, item: UnconfirmedMessage) {
        self.bytes -= item.body.len();
        let totals = self.totals;
        let Some(file) = self.working_file() else { return };
        file.unwritten.messages.remove(&item.place);
        file.unwritten.said.remove(&item.place);
        if item.is_in_file {
            file.unwritten.gone.push((item.which, totals));
        }
    }

    /// The next message that may be sent.
    pub(super) fn next(&mut self) -> io::Result<Option<Outgoing>> {
        let Some(boot) = self.items.front().map(|first| first.which.boot) else { return Ok(None) };
        let most = if self.begun == Some(boot) { MOST_IN_FLIGHT } else { 1 };
        if self.in_flight >= most {
            return Ok(None);
        }
        self.say(boot, most);
        let is_stuck = self.is_disk_stuck();
        let Some(item) = self.items.get(self.in_flight) else { return Ok(None) };
        let (true, Some(EnvelopeValues { after, lost })) = (item.may_go || is_stuck, item.said) else {
            return Ok(None);
        };
        let NodeMessageId { boot, sequence } = item.which;
        let id = MessageId { node: self.node.clone(), boot, sequence };
        let bytes =
            envelope::seal(&EnvelopeHead { version: envelope::VERSION, id: &id, after, lost }, &item.body)?;
        self.in_flight += 1;
        Ok(Some(Outgoing { id, bytes }))
    }

    /// Decides what the envelopes of the next messages say: of one, or where a file has to be told, of all that may be on their way
    /// together.
    fn say(&mut self, boot: Boot, most: usize) {
        let is_told = self.working_file().is_some();
        let until = if is_told { most } else { self.in_flight + 1 };
        for at in self.in_flight..until.min(self.items.len()) {
            let after = at.checked_sub(1).map_or(0, |before| self.items[before].which.sequence);
            let (lost, item) = (self.totals.dropped, &mut self.items[at]);
            if item.which.boot != boot || item.said.is_some() {
                return;
            }
            item.said = Some(EnvelopeValues { after, lost });
            item.may_go = !is_told;
            let place = item.place;
            if let Some(file) = self.working_file() {
                file.unwritten.said.insert(place);
                file.waiting.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Returns true if the disk has been waited for so long that nothing waits for it any more.
    fn is_disk_stuck(&self) -> bool {
        let waiting = self.file.as_ref().and_then(|file| file.waiting);
        waiting.is_some_and(|since| since.elapsed() > DISK_TIMEOUT)
    }

    /// The heartbeat that is to be sent, once.
    pub(super) fn take_heartbeat(&mut self) -> io::Result<Option<Outgoing>> {
        let Some(body) = self.heartbeat.take() else { return Ok(None) };
        let id = MessageId { node: self.node.clone(), boot: self.boot, sequence: 0 };
        let bytes =
            envelope::seal(&EnvelopeHead { version: envelope::VERSION, id: &id, after: 0, lost: 0 }, &body)?;
        Ok(Some(Outgoing { id, bytes }))
    }

    /// The first message on its way has arrived.
    pub(super) fn confirm(&mut self) {
        if let Some(item) = self.items.pop_front() {
            self.begun = Some(item.which.boot);
            self.in_flight = self.in_flight.saturating_sub(1);
            self.forget(item);
        }
    }

    /// Marks the messages in flight as unsent, because it is not known whether they have arrived: they are to be sent again, in order.
    pub(super) fn rewind(&mut self) {
        (self.in_flight, self.begun) = (0, None);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The size of all messages.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn spool(&self) -> Spool {
        let SpoolTotals { dropped, shortened } = self.totals;
        Spool {
            messages: self.items.len() as u64,
            bytes: self.bytes as u64,
            shortened,
            dropped,
            unwritten: self.unwritten,
            fault: self.file.as_ref().and_then(|file| file.fault.clone()),
        }
    }
}

impl UnconfirmedMessage {
    fn stored(&self, is_told: bool) -> StoredMessage {
        let said = self.said.filter(|_| is_told).map(|EnvelopeValues { after, lost }| (after, lost));
        StoredMessage { which: self.which, is_result: self.is_result, body: Arc::clone(&self.body), said }
    }
}

#[cfg(test)]
mod tests;
