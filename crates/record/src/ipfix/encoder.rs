//! Flow records into the data sets of messages.

use super::message::{HEADER, IpfixMessage, RecordSums, SET_HEADER, close_set};
use super::options::FIRST_FREE_TEMPLATE;
use super::shape::RecordShape;
use super::template::{self, ExportTemplate};
use crate::line::LineBuffer;
use crate::{FileColumn, Selection};
use flow::FlowRecord;
use std::io;

/// Receives the output of an [`Encoder`], in order.
pub(super) trait EncoderSink {
    /// A template record, before the first message with records of it.
    fn template(&mut self, definition: Vec<u8>) -> io::Result<()>;
    /// A message that is full. Its buffer may be kept if another is left in its place.
    fn message(&mut self, message: &mut IpfixMessage) -> io::Result<()>;
}

/// The number of templates from which on new ones have all fields, and 0 of those that a record leaves open: routers decide which these are.
const MOST_SHAPES: usize = 256;

/// Encodes records. Holds one message.
#[derive(Debug)]
pub(super) struct Encoder {
    columns: Vec<FileColumn>,
    node: Vec<u8>,
    mask: RecordShape,
    templates: Vec<ExportTemplate>,
    /// The number of the template that the last record had.
    last: usize,
    /// The longest message, unless a single record is longer.
    limit: usize,
    message: IpfixMessage,
    filled: usize,
    /// The place where the open set begins; 0 where no set is open.
    set: usize,
}

impl Encoder {
    pub(super) fn new(node: &str, selection: &Selection, limit: usize) -> Self {
        let columns = selection.columns().to_vec();
        let mask = RecordShape::mask(&columns);
        let mut encoder = Self {
            columns,
            node: template::text(node),
            mask,
            templates: Vec::new(),
            last: 0,
            limit,
            message: IpfixMessage::default(),
            filled: HEADER,
            set: 0,
        };
        // Templates of ordinary flows are defined from the start.
        encoder.template_of(RecordShape::ordinary(false).masked(mask));
        encoder.template_of(RecordShape::ordinary(true).masked(mask));
        encoder
    }

    /// The templates so far.
    pub(super) fn definitions(&self) -> Vec<Vec<u8>> {
        self.templates.iter().map(ExportTemplate::definition).collect()
    }

    /// The number of the template of a shape, and whether it is new.
    fn template_of(&mut self, shape: RecordShape) -> (usize, bool) {
        let known = |shape: RecordShape| self.templates.iter().position(|template| template.shape == shape);
        if let Some(known) = known(shape) {
            return (known, false);
        }
        let shape = match self.templates.len() < MOST_SHAPES {
            true => shape,
            false => shape.with_all_fields(self.mask),
        };
        if let Some(known) = known(shape) {
            return (known, false);
        }
        let id = FIRST_FREE_TEMPLATE + self.templates.len() as u16;
        self.templates.push(ExportTemplate::new(id, shape, &self.columns, self.node.len()));
        (self.templates.len() - 1, true)
    }

    /// Encodes records; messages that are full go to `sink`.
    pub(super) fn put(&mut self, records: &[FlowRecord], sink: &mut impl EncoderSink) -> io::Result<()> {
        for record in records {
            let shape = RecordShape::from_record(record, self.mask);
            if self.templates[self.last].shape != shape {
                self.change_template(shape, sink)?;
            }
            let template = &self.templates[self.last];
            let needed = template.record_len + if self.set == 0 { SET_HEADER } else { 0 };
            if self.filled + needed > self.limit && self.message.flows.records != 0 {
                self.end_message(sink)?;
            }
            self.reserve();
            if self.set == 0 {
                self.begin_set();
            }
            let mut line = LineBuffer::after(&mut self.message.bytes, self.filled);
            self.templates[self.last].put(&mut line, record, &self.node);
            self.filled = line.len();
            let reverse = record.reverse();
            self.message.flows.add(RecordSums {
                records: 1,
                packets: record.total_count.saturating_add(reverse.map_or(0, |r| r.total_count)),
                octets: record.total_byte.saturating_add(reverse.map_or(0, |r| r.total_byte)),
            });
        }
        Ok(())
    }

    #[cold]
    fn change_template(&mut self, shape: RecordShape, sink: &mut impl EncoderSink) -> io::Result<()> {
        self.end_set();
        let (at, is_new) = self.template_of(shape);
        self.last = at;
        if is_new {
            // A message sent after the template's own message must not have been begun before it.
            self.end_message(sink)?;
            sink.template(self.templates[at].definition())?;
        }
        Ok(())
    }

    /// Room for one more record and a set's header.
    fn reserve(&mut self) {
        let room = self.filled + SET_HEADER + self.templates[self.last].record_len + LineBuffer::SLACK;
        if self.message.bytes.len() < room {
            let whole = self.limit + LineBuffer::SLACK + SET_HEADER;
            self.message.bytes.resize(room.max(whole), 0);
        }
    }

    fn begin_set(&mut self) {
        self.set = self.filled;
        let id = self.templates[self.last].id.to_be_bytes();
        self.message.bytes[self.filled..self.filled + 2].copy_from_slice(&id);
        self.filled += SET_HEADER;
    }

    fn end_set(&mut self) {
        if self.set != 0 {
            close_set(&mut self.message.bytes[..self.filled], self.set);
            self.set = 0;
        }
    }

    /// Hands over the message that has been begun, if any.
    pub(super) fn end_message(&mut self, sink: &mut impl EncoderSink) -> io::Result<()> {
        if self.message.flows.records == 0 {
            return Ok(());
        }
        self.end_set();
        self.message.bytes.truncate(self.filled);
        let result = sink.message(&mut self.message);
        self.message.flows = RecordSums::default();
        self.filled = HEADER;
        result
    }

    /// Bytes of the message that has been begun.
    pub(super) fn pending(&self) -> usize {
        if self.message.flows.records == 0 { 0 } else { self.filled }
    }
}
