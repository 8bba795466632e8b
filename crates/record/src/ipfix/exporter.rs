//! Exporting to a collector: a writer whose records another thread sends.

use super::collector::{Collector, Transport};
use super::domain_of;
use super::encoder::{Encoder, EncoderSink};
use super::message::{IpfixMessage, MessageNumbering, RecordSums};
use super::options::OptionsRecords;
use super::pace::RecordPace;
use super::queue::ExportQueue;
use super::sender::MessageSender;
use crate::writer::WriterReport;
use crate::{MeasurementTotals, RecordWriter, Selection};
use flow::FlowRecord;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time that the end of a run waits for the collector to accept what is left.
const DRAIN: Duration = Duration::from_secs(5);
/// A paced exporter keeps no more records than it sends in this time, so that they are sent before the end of
/// the run stops waiting.
const PACED: Duration = Duration::from_secs(3);
/// A collector that accepted nothing for this long is unreachable.
const STALLED: Duration = Duration::from_secs(1);

/// The ability of the source of records to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Patience {
    /// A source that cannot wait: it is live. What the queue has no room for is dropped.
    None,
    /// A source that can wait: a replay. It waits for its own pace ([`Collector`]'s `rate`), as long as the collector accepts what is sent. It
    /// does not wait for the collector: a slow reader over TCP gets what the queue has room for.
    ForPace,
}

/// Starts exporting to `collector`. `node` is the observation point's name.
///
/// Never blocks and never fails because of the collector: records wait in a queue of 8 MiB while it is
/// unreachable, and are dropped when that is full ([`RecordWriter::dropped`], [`RecordWriter::warnings`]).
///
/// # Errors
/// If the collector's name cannot be resolved, or the thread cannot be started.
pub fn export(
    collector: &Collector,
    node: &str,
    selection: &Selection,
    patience: Patience,
) -> io::Result<Box<dyn RecordWriter>> {
    // A mistake in the name is reported now, not at the first record.
    let at = |error: io::Error| io::Error::new(error.kind(), format!("{collector}: {error}"));
    let addresses = collector.addresses().map_err(at)?;
    let domain = collector.domain.unwrap_or_else(|| domain_of(node));
    let encoder = Encoder::new(node, selection, collector.message);
    let most_records = collector.rate.map_or(u64::MAX, |rate| rate.saturating_mul(PACED.as_secs()));
    let queue = Arc::new(ExportQueue::new(most_records));
    let sender = MessageSender {
        collector: collector.clone(),
        addresses,
        queue: Arc::clone(&queue),
        options: OptionsRecords::new(node, domain, selection),
        templates: encoder.definitions(),
        pace: RecordPace::new(collector.rate, Instant::now()),
        stream: MessageNumbering::new(domain),
        held: None,
        account: None,
        last: RecordSums::default(),
        has_warned: false,
    };
    let is_paced = collector.rate.is_some();
    let patience = (patience == Patience::ForPace && is_paced && collector.transport == Transport::Udp)
        .then_some(STALLED);
    let thread =
        std::thread::Builder::new().name("export".to_owned()).spawn(move || sender.run()).map_err(at)?;
    let outbox = QueueSink { queue, timeout: patience };
    Ok(Box::new(IpfixExporter { name: collector.to_string(), encoder, outbox, thread: Some(thread) }))
}

/// The sending half.
struct IpfixExporter {
    name: String,
    encoder: Encoder,
    outbox: QueueSink,
    thread: Option<JoinHandle<()>>,
}

struct QueueSink {
    queue: Arc<ExportQueue>,
    /// The longest time to wait for room; `None`: not at all.
    timeout: Option<Duration>,
}

impl EncoderSink for QueueSink {
    fn template(&mut self, definition: Vec<u8>) -> io::Result<()> {
        self.queue.push_template(definition);
        Ok(())
    }

    fn message(&mut self, message: &mut IpfixMessage) -> io::Result<()> {
        // Records without room are counted there.
        self.queue.push(message, self.timeout);
        Ok(())
    }
}

impl IpfixExporter {
    fn end(&mut self, time: Duration) {
        self.outbox.queue.close(time);
        if let Some(thread) = self.thread.take() {
            // A failed sender has sent nothing more; what it left is counted below.
            let _ = thread.join();
            self.outbox.queue.end();
        }
    }
}

impl RecordWriter for IpfixExporter {
    fn write(&mut self, records: &[FlowRecord]) -> io::Result<()> {
        self.encoder.put(records, &mut self.outbox)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.end_message(&mut self.outbox)
    }

    fn account(&mut self, account: &MeasurementTotals) -> io::Result<()> {
        self.outbox.queue.account(*account);
        Ok(())
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn dropped(&self) -> u64 {
        self.outbox.queue.exported().not_sent.records
    }

    fn warnings(&mut self) -> Vec<String> {
        self.outbox.queue.take_warnings()
    }

    fn finish(mut self: Box<Self>) -> io::Result<WriterReport> {
        self.flush()?;
        self.end(DRAIN);
        Ok(WriterReport { dropped: self.dropped(), warnings: self.warnings() })
    }
}

impl Drop for IpfixExporter {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}
