//! The exporting thread: takes messages from the queue, gives them their headers, sends them.

use super::collector::{Collector, Transport};
use super::message::{IpfixMessage, MessageNumbering, MessagePacker, RecordSums, TEMPLATE_SET};
use super::options::OptionsRecords;
use super::pace::RecordPace;
use super::queue::{ExportQueue, ExportStep, QueueEntry};
use super::transport::CollectorConnection;
use crate::MeasurementTotals;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The first and the longest pause before a collector that is unreachable is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The time within which a network reports that no collector listens.
const ANSWER: Duration = Duration::from_millis(50);
/// The number of messages after which templates are resent over UDP too (RFC 7011, section 8.4): a replay sends in
/// seconds what a live source sends in hours.
const RESEND_MESSAGES: u32 = 4096;

pub(super) struct MessageSender {
    pub(super) collector: Collector,
    /// The addresses of the collector. They are resolved once, because a resolver that does not answer would delay the end of the run.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) queue: Arc<ExportQueue>,
    pub(super) options: OptionsRecords,
    /// All templates of flow records that the collector must know.
    pub(super) templates: Vec<Vec<u8>>,
    pub(super) pace: RecordPace,
    pub(super) stream: MessageNumbering,
    /// The message that could not be sent yet. It is sent next.
    pub(super) held: Option<IpfixMessage>,
    /// The latest account, sent again at the end.
    pub(super) account: Option<MeasurementTotals>,
    /// The flow records of the last datagram. The network may still report it as undelivered.
    pub(super) last: RecordSums,
    pub(super) has_warned: bool,
}

/// The reason why a session ended.
enum SessionEnd {
    /// The end of the export.
    All,
    /// An unreachable collector.
    Fault(io::Error),
}

impl MessageSender {
    /// Sends until the queue is closed and empty, or its deadline has passed.
    pub(super) fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let opened = CollectorConnection::open(&self.addresses, self.collector.transport);
            let fault = match opened {
                Ok(mut link) => match self.session(&mut link, &mut pause) {
                    SessionEnd::All => break,
                    SessionEnd::Fault(fault) => fault,
                },
                Err(fault) => fault,
            };
            self.away(&fault);
            if !self.sleep(pause) {
                break;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if let Some(message) = self.held.take() {
            self.queue.dropped(message.flows);
        }
        self.queue.end();
    }

    /// Sleeps. Returns false once the deadline has passed or, at the end of the run, nothing is left to send.
    fn sleep(&self, time: Duration) -> bool {
        self.queue.sleep_until(Instant::now() + time, self.held.is_some())
    }

    fn away(&mut self, fault: &io::Error) {
        self.queue.mark_away();
        if !self.has_warned {
            self.has_warned = true;
            self.queue.warn(format!(
                "{}: {fault}; trying again, and records wait as long as there is room for them",
                self.collector
            ));
        }
    }

    /// Sends over one connection. A session over UDP lasts the whole run, even if the collector is unreachable for a time.
    fn session(&mut self, link: &mut CollectorConnection, pause: &mut Duration) -> SessionEnd {
        let is_udp = self.collector.transport == Transport::Udp;
        // Sequence numbers start at 0 in each session: they count the records sent in it.
        self.stream = MessageNumbering::new(self.stream.domain());
        if let Err(fault) = self.preamble(link) {
            if !is_udp {
                return SessionEnd::Fault(fault);
            }
            if !self.wait_for_collector(link, fault, pause) {
                return SessionEnd::All;
            }
        }
        *pause = FIRST_PAUSE;
        let mut resend_at = Instant::now() + self.collector.resend;
        let mut messages_since = 0;
        loop {
            let now = Instant::now();
            if is_udp && (now >= resend_at || messages_since >= RESEND_MESSAGES) {
                (resend_at, messages_since) = (now + self.collector.resend, 0);
                if let Err(fault) = self.preamble(link)
                    && !self.wait_for_collector(link, fault, pause)
                {
                    return SessionEnd::All;
                }
            }
            let result = match self.held.take() {
                Some(message) => self.send(link, message),
                None => match self.queue.next(is_udp.then_some(resend_at)) {
                    ExportStep::Send(QueueEntry::Message(message)) => self.send(link, message),
                    ExportStep::Send(QueueEntry::Template(definition)) => {
                        self.send_template(link, definition)
                    }
                    ExportStep::Account(account) => {
                        self.account = Some(account);
                        self.send_account(link)
                    }
                    ExportStep::Timeout => Ok(()),
                    ExportStep::End => {
                        self.end(link);
                        return SessionEnd::All;
                    }
                },
            };
            messages_since += 1;
            if let Err(fault) = result {
                if self.queue.is_over() {
                    return SessionEnd::All;
                }
                if !is_udp {
                    return SessionEnd::Fault(fault);
                }
                if !self.wait_for_collector(link, fault, pause) {
                    return SessionEnd::All;
                }
                messages_since = 0;
            }
        }
    }

    /// Waits over UDP until the collector listens. Templates, which carry no records, serve as probes. The records of the last datagram are
    /// lost. Returns false if the deadline passes first.
    fn wait_for_collector(
        &mut self,
        link: &mut CollectorConnection,
        mut fault: io::Error,
        pause: &mut Duration,
    ) -> bool {
        loop {
            self.away(&fault);
            if !self.sleep(*pause) {
                return false;
            }
            *pause = (*pause * 2).min(LONGEST_PAUSE);
            let asked = self.preamble(link);
            if !self.sleep(ANSWER) {
                return false;
            }
            match asked.err().or_else(|| link.late_error()) {
                Some(next) => fault = next,
                None => {
                    *pause = FIRST_PAUSE;
                    return true;
                }
            }
        }
    }

    fn send(&mut self, link: &mut CollectorConnection, mut message: IpfixMessage) -> io::Result<()> {
        if let Some(due) = self.pace.due(Instant::now())
            && !self.queue.sleep_until(due, true)
        {
            self.held = Some(message);
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.seal(&mut message.bytes, now_seconds());
        if let Err(fault) = self.send_bytes(link, &message.bytes, message.flows) {
            self.held = Some(message);
            return Err(fault);
        }
        self.pace.sent(message.flows.records, Instant::now());
        self.stream.advance(message.flows.records);
        self.queue.sent(message.bytes.len(), message.flows, Some(message.bytes));
        Ok(())
    }

    /// Sends a message. If the network reports that the message before was refused, its records count as refused.
    fn send_bytes(
        &mut self,
        link: &mut CollectorConnection,
        bytes: &[u8],
        flows: RecordSums,
    ) -> io::Result<()> {
        let queue = &self.queue;
        let result = link.send(bytes, &|| !queue.is_over());
        let last =
            std::mem::replace(&mut self.last, if result.is_ok() { flows } else { RecordSums::default() });
        if result.as_ref().is_err_and(says_that_nobody_listens) {
            self.queue.count_refused(last);
        }
        result
    }

    fn send_all(&mut self, link: &mut CollectorConnection, messages: MessagePacker) -> io::Result<()> {
        for (mut bytes, data_records) in messages.finish() {
            self.stream.seal(&mut bytes, now_seconds());
            self.send_bytes(link, &bytes, RecordSums::default())?;
            self.stream.advance(data_records);
            self.queue.sent(bytes.len(), RecordSums::default(), None);
        }
        Ok(())
    }

    /// Sends all templates, and the options records that never change.
    fn preamble(&mut self, link: &mut CollectorConnection) -> io::Result<()> {
        let mut messages = MessagePacker::new(self.collector.message);
        self.options.preamble(&self.templates, &mut messages);
        self.send_all(link, messages)?;
        // On the local machine, an ICMP error arrives at once.
        self.refusal(link)
    }

    /// Returns an error if the network has reported one for the last datagram.
    fn refusal(&mut self, link: &CollectorConnection) -> io::Result<()> {
        match link.late_error() {
            Some(error) => {
                let last = std::mem::take(&mut self.last);
                if says_that_nobody_listens(&error) {
                    self.queue.count_refused(last);
                }
                Err(error)
            }
            None => Ok(()),
        }
    }

    fn send_template(&mut self, link: &mut CollectorConnection, definition: Vec<u8>) -> io::Result<()> {
        let mut messages = MessagePacker::new(self.collector.message);
        messages.put(TEMPLATE_SET, &definition);
        self.templates.push(definition);
        self.send_all(link, messages)
    }

    fn send_account(&mut self, link: &mut CollectorConnection) -> io::Result<()> {
        let Some(account) = self.account else { return Ok(()) };
        let mut messages = MessagePacker::new(self.collector.message);
        self.options.account(&account, &self.queue.exported(), &mut messages);
        self.send_all(link, messages)
    }

    /// Ends the queue and sends the last account with the final sums.
    fn end(&mut self, link: &mut CollectorConnection) {
        self.queue.end();
        // Errors are ignored: this is the last message.
        let _ = self.refusal(link).and_then(|()| self.send_account(link)).and_then(|()| self.refusal(link));
    }
}

/// Returns true if the error says that no collector listens. Over UDP, an ICMP message reports this for the previous datagram.
fn says_that_nobody_listens(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// Returns the seconds since the epoch, modulo 2³², as the message header has them.
fn now_seconds() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as u32)
}
