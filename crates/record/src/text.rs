//! The text formats, CSV and JSON lines: one writer, whose [`TextDialect`] contains the differences.

use crate::line::LineBuffer;
use crate::target::WriteTarget;
use crate::writer::WriterReport;
use crate::{FileColumn as Chosen, RecordWriter, Selection};
use flow::{FieldAccessor, FlowRecord, OpenFields};
use std::io::{self, Write};

/// Bytes formatted before they are written: large enough to make system calls negligible, small enough for
/// L2.
const BUFFER: usize = 64 << 10;

/// The differences of one text format from another.
pub(crate) struct TextDialect {
    header: fn(&Selection) -> Vec<u8>,
    /// A function that returns what precedes a column's value: its position, its name.
    before: fn(usize, &str) -> Vec<u8>,
    /// A function that formats a name that may contain any character.
    quoted: fn(&str) -> Vec<u8>,
    /// The number of quotation marks on either side of a text that needs no escapes.
    quotes: usize,
    /// The greatest integer that is written as a number; greater ones are written as text.
    exact: u64,
    null: &'static str,
    end: &'static str,
}

impl TextDialect {
    /// CSV as in RFC 4180, with `\n` at the ends of lines; a field is quoted only if necessary.
    pub(crate) const CSV: Self = Self {
        header: |selection| {
            let told = [selection.key_column(), selection.share_column()];
            let told = told.iter().flatten().map(|(name, _)| *name);
            let names: Vec<_> = selection.columns().iter().map(Chosen::name).chain(told).collect();
            (names.join(",") + "\n").into_bytes()
        },
        before: |position, _| if position == 0 { Vec::new() } else { b",".to_vec() },
        quoted: |text| match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")).into_bytes(),
            false => text.as_bytes().to_vec(),
        },
        quotes: 0,
        exact: u64::MAX,
        null: "",
        end: "\n",
    };

    /// JSON lines: one object a line; integers beyond 2⁵³ are strings, because many readers hold numbers as doubles.
    pub(crate) const JSON_LINES: Self = Self {
        header: |_| Vec::new(),
        before: |position, name| format!("{}\"{name}\":", if position == 0 { '{' } else { ',' }).into_bytes(),
        quoted: json_string,
        quotes: 1,
        exact: 1 << 53,
        null: "null",
        end: "}\n",
    };
}

/// A JSON string (RFC 8259, section 7).
fn json_string(text: &str) -> Vec<u8> {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out.push('"');
    out.into_bytes()
}

/// A column, with what precedes its value; a longer name has its end in `rest`.
struct PrefixedColumn {
    before: [u8; 32],
    before_len: usize,
    rest: Box<[u8]>,
    value: FieldAccessor,
    /// The field of the column if records may leave it open, else the empty set.
    open: OpenFields,
}

impl PrefixedColumn {
    fn new(dialect: &TextDialect, position: usize, chosen: &Chosen) -> Self {
        let text = (dialect.before)(position, chosen.name());
        let mut before = [0; 32];
        let (head, rest) = text.split_at(text.len().min(32));
        before[..head.len()].copy_from_slice(head);
        Self { before, before_len: head.len(), rest: rest.into(), value: chosen.value(), open: chosen.open() }
    }

    fn put_before(&self, line: &mut LineBuffer<'_>) {
        line.piece(&self.before, self.before_len);
        if !self.rest.is_empty() {
            line.bytes(&self.rest);
        }
    }
}

/// Columns that are adjacent and are read from the same direction.
struct ColumnGroup {
    is_reverse: bool,
    columns: Box<[PrefixedColumn]>,
}

/// Writes records as text. Holds about 64 KiB.
pub(crate) struct TextWriter {
    target: WriteTarget,
    groups: Box<[ColumnGroup]>,
    dialect: &'static TextDialect,
    node: Box<[u8]>,
    /// The end of each line after the last column: the share where packets were sampled, and the line's end.
    tail: Box<[u8]>,
    /// Room for [`BUFFER`] bytes and one more record.
    buffer: Box<[u8]>,
    filled: usize,
    /// The places where the records in the buffer end.
    ends: Vec<usize>,
    written: u64,
}

impl TextWriter {
    pub(crate) fn new(
        target: WriteTarget,
        dialect: &'static TextDialect,
        node: &str,
        selection: &Selection,
    ) -> Self {
        let mut columns = selection.columns().iter().enumerate().peekable();
        let mut groups = Vec::new();
        while let Some(is_reverse) = columns.peek().map(|(_, column)| column.is_reverse()) {
            let mut group = Vec::new();
            while let Some((position, column)) =
                columns.next_if(|(_, column)| column.is_reverse() == is_reverse)
            {
                group.push(PrefixedColumn::new(dialect, position, column));
            }
            groups.push(ColumnGroup { is_reverse, columns: group.into() });
        }
        let node: Box<[u8]> = (dialect.quoted)(node).into();
        let header = (dialect.header)(selection);
        let position = selection.columns().len();
        let key = selection.key_column().map(|(name, key)| (name, (dialect.quoted)(&key)));
        let share = selection.share_column().map(|(name, share)| (name, share.into_bytes()));
        let told = [key, share].into_iter().flatten();
        let told: Vec<u8> =
            told.flat_map(|(name, value)| [(dialect.before)(position, name), value].concat()).collect();
        let tail: Box<[u8]> = [told, dialect.end.into()].concat().into();
        let names: usize = selection.columns().iter().map(|column| column.name().len()).sum();
        let record = selection.columns().len() * (32 + LineBuffer::SLACK)
            + names
            + node.len()
            + tail.len()
            + LineBuffer::SLACK;
        let mut buffer = vec![0; BUFFER + header.len() + record].into_boxed_slice();
        buffer[..header.len()].copy_from_slice(&header);
        Self {
            target,
            groups: groups.into(),
            dialect,
            node,
            tail,
            buffer,
            filled: header.len(),
            ends: Vec::new(),
            written: 0,
        }
    }

    fn format(&mut self, record: &FlowRecord) {
        let line = &mut LineBuffer::after(&mut self.buffer, self.filled);
        for group in &self.groups {
            match record.direction(group.is_reverse) {
                Some(record) => format(line, &group.columns, record, self.dialect, &self.node),
                None => {
                    for column in &group.columns {
                        column.put_before(line);
                        line.bytes(self.dialect.null.as_bytes());
                    }
                }
            }
        }
        line.bytes(&self.tail);
        self.filled = line.len();
        self.ends.push(self.filled);
    }

    /// Writes the buffer out. If that fails, a file is truncated to its last complete record.
    fn drain(&mut self) -> io::Result<()> {
        let start = self.target.len();
        if let Err(error) = self.target.write_all(&self.buffer[..self.filled]) {
            let taken = (self.target.len() - start) as usize;
            let whole = self.ends.partition_point(|end| *end <= taken);
            let end = if whole == 0 { 0 } else { self.ends[whole - 1] };
            self.target.cut(start + end as u64);
            self.target.close();
            self.written += whole as u64;
            self.clear();
            return Err(self.target.fault(error, self.written));
        }
        self.written += self.ends.len() as u64;
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.filled = 0;
        self.ends.clear();
    }
}

impl RecordWriter for TextWriter {
    fn write(&mut self, records: &[FlowRecord]) -> io::Result<()> {
        for record in records {
            self.format(record);
            if self.filled >= BUFFER {
                self.drain()?;
            }
        }
        if self.target.is_stream() { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drain()?;
        self.target.flush().map_err(|e| self.target.fault(e, self.written))
    }

    fn name(&self) -> String {
        self.target.path().to_owned()
    }

    fn size(&self) -> u64 {
        self.target.len() + self.filled as u64
    }

    fn finish(mut self: Box<Self>) -> io::Result<WriterReport> {
        self.drain()?;
        self.target.complete()?;
        Ok(WriterReport::default())
    }
}

#[inline]
fn format(
    line: &mut LineBuffer<'_>,
    columns: &[PrefixedColumn],
    record: &FlowRecord,
    dialect: &TextDialect,
    node: &[u8],
) {
    let TextDialect { quotes, exact, null, .. } = *dialect;
    for column in columns {
        column.put_before(line);
        match column.value {
            _ if record.open.has_any(column.open) => line.bytes(null.as_bytes()),
            FieldAccessor::Unsigned(_, get) | FieldAccessor::Time(get) => integer(line, get(record), exact),
            FieldAccessor::Optional(_, get) => match get(record) {
                Some(value) => integer(line, value, exact),
                None => line.bytes(null.as_bytes()),
            },
            FieldAccessor::Address(get) => match get(record) {
                Some(address) => {
                    line.piece(b"\"", quotes);
                    line.address(address);
                    line.piece(b"\"", quotes);
                }
                None => line.bytes(null.as_bytes()),
            },
            FieldAccessor::Mac(get) => match get(record) {
                [0, 0, 0, 0, 0, 0] => line.bytes(null.as_bytes()),
                mac => {
                    line.piece(b"\"", quotes);
                    line.mac(mac);
                    line.piece(b"\"", quotes);
                }
            },
            FieldAccessor::EndReason(get) => {
                line.piece(b"\"", quotes);
                line.bytes(get(record).name().as_bytes());
                line.piece(b"\"", quotes);
            }
            FieldAccessor::Float(at) => match record.statistic(at).filter(|value| value.is_finite()) {
                Some(value) => line.float(value),
                None => line.bytes(null.as_bytes()),
            },
            FieldAccessor::Node => line.bytes(node),
        }
    }
}

#[inline]
fn integer(line: &mut LineBuffer<'_>, value: u64, exact: u64) {
    let quotes = usize::from(value > exact);
    line.piece(b"\"", quotes);
    line.integer(value);
    line.piece(b"\"", quotes);
}
