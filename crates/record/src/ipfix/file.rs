//! IPFIX files (RFC 5655): the messages of one session in sequence, templates first.

use super::domain_of;
use super::encoder::{Encoder, EncoderSink};
use super::message::{IpfixMessage, MessageNumbering, MessagePacker, TEMPLATE_SET};
use super::options::{ExportTotals, OptionsRecords};
use crate::target::WriteTarget;
use crate::writer::WriterReport;
use crate::{MeasurementTotals, RecordWriter, Selection};
use flow::FlowRecord;
use std::io::{self, Write};

/// Messages are no longer: few system calls, and below the maximum of the length field.
const MESSAGE: usize = 60 << 10;

/// Writes records as an IPFIX file. Holds one message.
pub(crate) struct IpfixWriter {
    encoder: Encoder,
    output: IpfixOutput,
}

impl IpfixWriter {
    pub(crate) fn new(target: WriteTarget, node: &str, selection: &Selection) -> Self {
        let domain = domain_of(node);
        let encoder = Encoder::new(node, selection, MESSAGE);
        let output = IpfixOutput {
            target,
            options: OptionsRecords::new(node, domain, selection),
            stream: MessageNumbering::new(domain),
            seconds: 0,
            preamble: Some(encoder.definitions()),
            exported: ExportTotals::default(),
        };
        Self { encoder, output }
    }
}

struct IpfixOutput {
    target: WriteTarget,
    options: OptionsRecords,
    stream: MessageNumbering,
    /// Export time: that of the latest packet, so that the same packets give the same file.
    seconds: u32,
    /// The initial templates of the file, until they are written.
    preamble: Option<Vec<Vec<u8>>>,
    exported: ExportTotals,
}

impl IpfixOutput {
    fn see(&mut self, time_ns: u64) {
        self.seconds = self.seconds.max((time_ns / 1_000_000_000) as u32);
    }

    fn begin(&mut self) -> io::Result<()> {
        let Some(templates) = self.preamble.take() else { return Ok(()) };
        let mut messages = MessagePacker::new(MESSAGE);
        self.options.preamble(&templates, &mut messages);
        self.write_all(messages)
    }

    fn write_all(&mut self, messages: MessagePacker) -> io::Result<()> {
        messages.finish().into_iter().try_for_each(|(mut bytes, records)| self.write(&mut bytes, records))
    }

    /// Writes one message. If that fails, the file is truncated to the previous one.
    fn write(&mut self, bytes: &mut [u8], data_records: u64) -> io::Result<()> {
        self.stream.seal(bytes, self.seconds);
        let start = self.target.len();
        if let Err(error) = self.target.write_all(bytes) {
            self.target.cut(start);
            self.target.close();
            return Err(self.target.fault(error, self.exported.sent.records));
        }
        self.stream.advance(data_records);
        self.exported.messages += 1;
        self.exported.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl EncoderSink for IpfixOutput {
    fn template(&mut self, definition: Vec<u8>) -> io::Result<()> {
        self.begin()?;
        let mut messages = MessagePacker::new(MESSAGE);
        messages.put(TEMPLATE_SET, &definition);
        self.write_all(messages)
    }

    fn message(&mut self, message: &mut IpfixMessage) -> io::Result<()> {
        self.begin()?;
        self.write(&mut message.bytes, message.flows.records)?;
        self.exported.sent.add(message.flows);
        Ok(())
    }
}

impl RecordWriter for IpfixWriter {
    fn write(&mut self, records: &[FlowRecord]) -> io::Result<()> {
        if let Some(latest) = records.iter().map(|record| record.ltime).max() {
            self.output.see(latest);
        }
        self.encoder.put(records, &mut self.output)?;
        if self.output.target.is_stream() { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.end_message(&mut self.output)?;
        self.output.target.flush().map_err(|e| self.output.target.fault(e, self.output.exported.sent.records))
    }

    fn account(&mut self, account: &MeasurementTotals) -> io::Result<()> {
        self.output.see(account.time_ns);
        self.encoder.end_message(&mut self.output)?;
        self.output.begin()?;
        let mut messages = MessagePacker::new(MESSAGE);
        self.output.options.account(account, &self.output.exported, &mut messages);
        self.output.write_all(messages)
    }

    fn name(&self) -> String {
        self.output.target.path().to_owned()
    }

    fn size(&self) -> u64 {
        self.output.target.len() + self.encoder.pending() as u64
    }

    fn finish(mut self: Box<Self>) -> io::Result<WriterReport> {
        self.encoder.end_message(&mut self.output)?;
        self.output.begin()?;
        self.output.target.complete()?;
        Ok(WriterReport::default())
    }
}
