//! CSV (RFC 4180) with a header line.

use super::line_source::{AfterLine, LONGEST, LineSource, LineSplitter, MOST_COLUMNS};
use super::nfdump::{Nfdump, NfdumpLine};
use super::schema::{Schema, told_key};
use super::source::{ByteReader, size};
use super::text_column::{TextColumn, TextColumnKind};
use super::{BlockSink, Contents, FilePart, FormatReader, ReadError, ReadProjection};
use crate::{KEY_COLUMN, SHARE_COLUMN};
use csv_core::{ReadRecordResult, Reader};
use std::borrow::Cow;
use std::io::BufRead;
use std::path::Path;

/// A CSV file.
pub(crate) struct CsvReader {
    source: LineSource,
    schema: Schema<TextColumnKind>,
    columns: usize,
    contents: Contents,
    /// The reader of nfdump's lines, if the file is nfdump's.
    nfdump: Option<Nfdump>,
    /// Lines that are no flows, in what was read last: their number, and what is wrong with the first.
    unread: Option<(u64, String)>,
}

impl CsvReader {
    pub(crate) fn open(path: &Path, mut bytes: ByteReader) -> Result<Self, ReadError> {
        let refused = |reason: &dyn std::fmt::Display| ReadError::not_flows(path, reason);
        let size = size(&mut bytes).map_err(|error| refused(&error))?;
        let mut lines = CsvLines::default();
        let has_header = lines.next(&mut bytes).map_err(|error| refused(&format!("line 1: {error}")))?;
        if !has_header {
            return Err(refused(&"the header line with the names of the columns is missing"));
        }
        let names: Vec<String> =
            (0..lines.fields).map(|at| String::from_utf8_lossy(lines.field(at)).into_owned()).collect();
        let nfdump = Nfdump::from_header(&names);
        let known: Vec<&str> = match &nfdump {
            Some(nfdump) => nfdump.names(),
            None => names.iter().map(String::as_str).collect(),
        };
        // A line that is wrong is found when it is read.
        let is_told = |name: &str| names.iter().any(|known| known == name);
        let has_line = (is_told(SHARE_COLUMN) || is_told(KEY_COLUMN))
            && lines.next(&mut bytes).is_ok_and(|is_line| is_line);
        let told = |name: &str| {
            let at = names.iter().position(|known| known == name).filter(|at| has_line && *at < lines.fields);
            at.map(|at| String::from_utf8_lossy(lines.field(at)).into_owned())
        };
        let key = told(KEY_COLUMN).and_then(|key| told_key(&key));
        let (schema, mut contents) = Schema::from_names(known, TextColumnKind::from_name, key);
        if schema.columns.is_empty() {
            return Err(refused(&"no column of the header line is a field; `edison fields` lists them"));
        }
        contents.parts = vec![FilePart { bytes: size, ..FilePart::default() }];
        if let Some(share) = told(SHARE_COLUMN) {
            contents.sampled_by(&share);
        }
        let source = LineSource::new(path, bytes);
        Ok(Self { source, schema, columns: names.len(), contents, nfdump, unread: None })
    }
}

impl FormatReader for CsvReader {
    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn read_part(
        &mut self,
        _part: usize,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), ReadError> {
        let Self { source, schema, columns: number, nfdump, unread, .. } = self;
        let columns = TextColumn::all(schema, wanted);
        let all = TextColumn::known(schema);
        *unread = None;
        source.read(schema, wanted, sink, |lines: &CsvLines, gatherer| {
            let Some(nfdump) = nfdump else {
                if lines.fields != *number {
                    return Err(format!("it has {} fields, the header {number}", lines.fields));
                }
                let fill = |rows: &mut _| {
                    columns.iter().try_for_each(|column| column.put(lines.field(column.number), rows))
                };
                return gatherer.add_line(lines.line, fill).map(AfterLine::of_row);
            };
            let fields: Vec<&[u8]> = (0..lines.fields).map(|at| lines.field(at)).collect();
            // Whichever columns are wanted, the same lines are flows.
            let checked = nfdump.line(&fields).and_then(|read| match read {
                NfdumpLine::End => Ok(None),
                NfdumpLine::Flow(values) => {
                    all.iter().try_for_each(|column| column.check(&values[column.number]))?;
                    Ok(Some(values))
                }
            });
            match checked {
                Ok(None) => Ok(AfterLine::End),
                Ok(Some(values)) => {
                    let fill = |rows: &mut _| {
                        columns.iter().try_for_each(|column| column.put(&values[column.number], rows))
                    };
                    gatherer.add(fill).map(AfterLine::of_row)
                }
                Err(error) => {
                    let first = || (0, format!("line {}: {error}", lines.line));
                    unread.get_or_insert_with(first).0 += 1;
                    Ok(AfterLine::Next)
                }
            }
        })
    }

    fn passed_over(&self) -> Option<String> {
        let unread = self.unread.as_ref();
        let unread =
            unread.map(|(number, first)| format!("{number} lines are no flows, the first is {first}"));
        unread.or_else(|| self.source.passed_over())
    }
}

/// The lines of a file, split into fields. A line break in quotation marks ends no line of these.
struct CsvLines {
    splitter: Reader,
    /// The fields of the line, one after the other.
    text: Vec<u8>,
    /// The place where each field ends.
    ends: Vec<usize>,
    fields: usize,
    /// The number of the line in the file, where it begins.
    line: u64,
}

impl Default for CsvLines {
    fn default() -> Self {
        Self { splitter: Reader::new(), text: vec![0; 1 << 10], ends: vec![0; 64], fields: 0, line: 1 }
    }
}

impl CsvLines {
    fn field(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }
}

impl LineSplitter for CsvLines {
    const HAS_HEADER: bool = true;

    // A line has at most LONGEST bytes without its quotes: a quotation mark that is never closed would take the whole file into one.
    fn next(&mut self, bytes: &mut ByteReader) -> Result<bool, String> {
        let (mut text, mut ends) = (0, 0);
        self.line = self.splitter.line();
        loop {
            let input = bytes.fill_buf().map_err(|error| error.to_string())?;
            let (result, read, written, ended) =
                self.splitter.read_record(input, &mut self.text[text..], &mut self.ends[ends..]);
            bytes.consume(read);
            text += written;
            ends += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.text.len() < LONGEST => {
                    self.text.resize(self.text.len() * 2, 0);
                }
                ReadRecordResult::OutputFull => {
                    return Err(format!(
                        "it is longer than {LONGEST} bytes, or a quotation mark is not closed"
                    ));
                }
                ReadRecordResult::OutputEndsFull if self.ends.len() < MOST_COLUMNS => {
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull => {
                    return Err(format!("it has more than {MOST_COLUMNS} fields"));
                }
                ReadRecordResult::Record => {
                    self.fields = ends;
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    fn number(&self) -> u64 {
        self.line
    }

    /// Returns the bytes of all fields with what separates them.
    fn length(&self) -> usize {
        let text = self.fields.checked_sub(1).map_or(0, |last| self.ends[last]);
        text + self.fields
    }

    fn value<'l>(&'l self, _: &Schema<TextColumnKind>, column: &TextColumn) -> Option<Cow<'l, [u8]>> {
        (column.number < self.fields).then(|| self.field(column.number).into())
    }
}
