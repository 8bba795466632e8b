//! Window rows as Parquet (`--rows`): one row for each flow key and window.
//!
//! Columns and types are those of the field table, except for what queries over many files need: addresses
//! are 16 bytes, IPv4 as `::ffff:0:0/96`, in whose order a prefix is a range; times are plain nanoseconds,
//! which every engine reads; each row contains the window's start.

use crate::Anonymizer;
use crate::line::LineBuffer;
use crate::parquet_file::{BATCH, ParquetFile, ROW_GROUP, entry, integer, nanoseconds};
use crate::parquet_values::{Masks, ip_version, ranged_properties, write_bytes};
use crate::target::{self, WriteTarget};
use crate::windows::RecordedWindows;
use crate::{FileColumn, RecordContents, Selection};
use flow::{FieldAccessor, FlowKey, FlowRecord, Loss, LossCounts, Rows, WindowRow};
use packet::{Key, KeySpec};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::schema::types::Type;
use std::borrow::Cow;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Rows that are added to the columns at a time: as records they stay in L2.
const BLOCK: usize = 128;
/// A row group that [`RowWriter::flush`] ends has no fewer rows.
const SHORTEST: usize = 8 << 10;
/// Bytes of a MAC address as text.
const MAC: usize = 17;
/// IP protocol number.
const TCP: u8 = 6;

/// The window that rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWindow {
    /// The start of the window, nanoseconds since the epoch.
    pub start_ns: u64,
    /// The end of the window, which belongs to the next window. The file's metadata have the length of the first.
    pub end_ns: u64,
}

/// The column of bytes on the wire.
const WIRE_BYTES: &str = "wire_byte";

/// The parts of rows that some rows lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowParts {
    /// True if rows have means: rows of a rollup have none, which cannot be merged from means.
    pub has_means: bool,
    /// True if rows have bytes on the wire: what was imported may not tell them.
    pub has_wire_bytes: bool,
}

impl RowParts {
    /// The rows that have all parts.
    pub const ALL: Self = Self { has_means: true, has_wire_bytes: true };
}

/// Writes window rows to a Parquet file, which is named `PATH.part` until [`RowWriter::finish`] renames it.
///
/// An error names the file and gives the number of its complete rows: those of complete row groups, after
/// which the file is ended, so that it can be read after renaming. After an error nothing more is accepted.
///
/// Memory: the rows of one row group, 131,072, as columns: about 22 MB, with losses 37 MB.
pub struct RowWriter {
    file: ParquetFile,
    key: KeySpec,
    key_has_vlan: bool,
    tracked: flow::TrackedParts,
    anonymizer: Option<Anonymizer>,
    columns: Vec<RowColumn>,
    /// The rows of a block as records, from which the field table reads.
    block: Vec<FlowRecord>,
    /// Rows in the columns.
    pending: usize,
    rows: u64,
    failed: bool,
}

impl RowWriter {
    /// The number of the schema, as in the metadata under `edison.schema`. It increases when a column changes
    /// its type or meaning.
    pub const SCHEMA: u32 = 1;

    /// Opens `path`, which ends in `.parquet`. `node` is the observation point's name, `key` defines the
    /// keys, and `tracked` adds columns of these parts.
    ///
    /// # Errors
    /// Returns one line for another suffix, or a file that cannot be made.
    pub fn create(path: &Path, node: &str, key: KeySpec, tracked: flow::TrackedParts) -> io::Result<Self> {
        check_suffix(path)?;
        Self::to_target(WriteTarget::open(path)?, node, key, tracked, RowParts::ALL)
    }

    /// Refuses a path at which [`create`](Self::create) could open no writer, and leaves what is there.
    ///
    /// # Errors
    /// Returns one line for another suffix, or a file that cannot be made.
    pub fn check(path: &Path) -> io::Result<()> {
        check_suffix(path)?;
        target::check(path)
    }

    /// Opens a file of a store as [`create`](Self::create) does: who makes it has its bytes on the disk before it counts. `parts`: what its rows
    /// have.
    ///
    /// # Errors
    /// Returns one line for a file that cannot be made.
    pub fn create_stored(
        path: &Path,
        node: &str,
        key: KeySpec,
        tracked: flow::TrackedParts,
        parts: RowParts,
    ) -> io::Result<Self> {
        Self::to_target(WriteTarget::open(path)?, node, key, tracked, parts)
    }

    fn to_target(
        target: WriteTarget,
        node: &str,
        key: KeySpec,
        tracked: flow::TrackedParts,
        parts: RowParts,
    ) -> io::Result<Self> {
        let columns = columns(&key, node, tracked, parts);
        let schema = schema(&columns).map_err(io::Error::other)?;
        let properties = ranged_properties(&schema, metadata(node, &key));
        Ok(Self {
            file: ParquetFile::new(target, schema, properties, "rows")?,
            key,
            key_has_vlan: key.columns().any(|member| member == "vlan"),
            tracked,
            anonymizer: None,
            columns,
            block: Vec::new(),
            pending: 0,
            rows: 0,
            failed: false,
        })
    }

    /// Replaces addresses from here on: prefixes stay prefixes of the same length, and MAC addresses become null.
    #[must_use]
    pub fn with_anonymizer(self, anonymizer: Option<Anonymizer>) -> Self {
        Self { anonymizer, ..self }
    }

    /// Takes rows of one window. Larger blocks cost less a row; a thousand are sufficient.
    ///
    /// # Errors
    /// Returns the errors that [`RowWriter`] describes.
    pub fn write<K: Key>(&mut self, window: RowWindow, rows: &Rows<K>) -> io::Result<()> {
        if self.failed {
            return Err(self.file.closed());
        }
        if self.rows == 0 && !rows.is_empty() {
            let length = window.end_ns.saturating_sub(window.start_ns);
            self.file.describe("window_ns", length.to_string());
        }
        let mut at = 0;
        while at < rows.len() {
            let end = rows.len().min(at + BLOCK).min(at + ROW_GROUP - self.pending);
            for (place, number) in (at..end).enumerate() {
                self.take(place, &rows.rows[number], rows.loss(number));
            }
            let block = &self.block[..end - at];
            self.columns.iter_mut().for_each(|column| column.take(window, block));
            self.pending += block.len();
            self.rows += block.len() as u64;
            at = end;
            if self.pending == ROW_GROUP {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Ends the row group, so that the next window begins another one, unless it would be a short one of fewer than 8,192
    /// rows. No reader can open the file before [`RowWriter::finish`].
    ///
    /// # Errors
    /// Returns the errors that [`RowWriter`] describes.
    pub fn flush(&mut self) -> io::Result<()> {
        match self.pending {
            _ if self.failed => Err(self.file.closed()),
            SHORTEST.. => self.write_group(),
            _ => Ok(()),
        }
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.file.len()
    }

    /// Rows taken so far; after an error, those that are complete in the file.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Says in the file's metadata how many packets are in no row, because they found no place in the table, and their layer-3 bytes and
    /// bytes on the wire.
    pub fn describe_without_place(&mut self, packets: u64, bytes: u64, wire_bytes: u64) {
        if packets != 0 && !self.failed {
            self.file.describe("without_place", format!("{packets},{bytes},{wire_bytes}"));
        }
    }

    /// Says in the file's metadata which windows there were, and what is known of them besides their rows.
    ///
    /// # Errors
    /// If the list cannot be put into words.
    pub fn describe_windows(&mut self, windows: &RecordedWindows) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        if self.rows == 0 {
            self.file.describe("window_ns", windows.length_ns.to_string());
        }
        self.file.describe("windows", windows.to_json().map_err(io::Error::other)?);
        Ok(())
    }

    /// Writes what is buffered, ends the file and renames it. Returns its number of rows.
    ///
    /// # Errors
    /// Returns the errors that [`RowWriter`] describes.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.failed {
            return Err(self.file.closed());
        }
        if self.pending != 0 {
            self.write_group()?;
        }
        self.file.finish().map(|()| self.rows)
    }

    /// Puts a row into the block.
    fn take<K: Key>(&mut self, place: usize, row: &WindowRow<K>, loss: Option<&LossCounts>) {
        if place == self.block.len() {
            let more = self.tracked.loss.then(Box::default);
            self.block.push(FlowRecord { more, ..FlowRecord::without_packets(0, 0) });
        }
        let record = &mut self.block[place];
        fill_record(record, &self.key, self.key_has_vlan, row, loss);
        if let Some(anonymizer) = &mut self.anonymizer {
            anonymizer.record(record);
        }
    }

    fn write_group(&mut self) -> io::Result<()> {
        let Self { file, columns, pending, .. } = self;
        let rows = std::mem::take(pending);
        let result = file.write_group(rows, |rows, number, writer| columns[number].write(writer, rows));
        match result {
            Ok(()) => columns.iter_mut().for_each(RowColumn::clear),
            Err(_) => {
                // The memory is not needed any more.
                (self.failed, self.rows) = (true, file.rows());
                *columns = Vec::new();
            }
        }
        result
    }
}

/// Refuses a path without the suffix of Parquet: window rows are Parquet only.
fn check_suffix(path: &Path) -> io::Result<()> {
    if path.as_os_str().to_string_lossy().to_ascii_lowercase().ends_with(".parquet") {
        return Ok(());
    }
    let reason = "window rows are written as Parquet only; give a name that ends in .parquet";
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {reason}", path.display())))
}

/// Fills a record with a row; it has losses if it had the part for them before.
fn fill_record<K: Key>(
    record: &mut FlowRecord,
    spec: &KeySpec,
    key_has_vlan: bool,
    row: &WindowRow<K>,
    loss: Option<&LossCounts>,
) {
    let key = row.key.flow_key(spec);
    let mut more = record.more.take();
    if let Some(more) = &mut more {
        more.loss = loss.filter(|counts| is_measured(&key, counts)).map(Loss::from);
    }
    // A row without packets may lack some of these that its key has.
    let vlan = (!key_has_vlan && row.vlan != WindowRow::<K>::NO_VLAN).then_some(row.vlan);
    let ip_tos = key.ip_tos.unwrap_or(row.ip_tos);
    *record = FlowRecord { vlan, ip_tos, more, ..FlowRecord::of_row(key, row) };
}

/// A row as a record: its fields are those of the field table. `tracked`: the parts that rows have.
pub fn record_of_row<K: Key>(
    row: &WindowRow<K>,
    spec: &KeySpec,
    tracked: flow::TrackedParts,
    loss: Option<&LossCounts>,
) -> FlowRecord {
    let more = tracked.loss.then(Box::default);
    let mut record = FlowRecord { more, ..FlowRecord::without_packets(0, 0) };
    let key_has_vlan = spec.columns().any(|member| member == "vlan");
    fill_record(&mut record, spec, key_has_vlan, row, loss);
    record
}

/// Losses are counted for TCP only; for a key without a protocol, if there are any.
fn is_measured(key: &FlowKey, counts: &LossCounts) -> bool {
    key.protocol.map_or(!counts.is_empty(), |protocol| protocol == TCP)
}

/// A column, with the values of the row group that is being filled.
struct RowColumn {
    name: Cow<'static, str>,
    cells: Cells,
    /// The levels of the rows, which tell whether each has a value; empty if every row of every file has one.
    levels: Vec<i16>,
}

/// The way in which a column's values are read, and the values so far.
enum Cells {
    /// The starts of windows, microseconds.
    WindowStart(Vec<i64>),
    /// The name of the node, the same in every row.
    Node(ByteArray),
    /// Numbers of up to 32 bits: how many bits, and the values.
    Narrow(u8, fn(&FlowRecord) -> u64, Vec<i32>),
    Wide(fn(&FlowRecord) -> u64, Vec<i64>),
    OptionalNarrow(u8, fn(&FlowRecord) -> Option<u64>, Vec<i32>),
    OptionalWide(fn(&FlowRecord) -> Option<u64>, Vec<i64>),
    Time(fn(&FlowRecord) -> u64, Vec<i64>),
    Address {
        get: fn(&FlowRecord) -> Option<IpAddr>,
        masks: Masks,
        values: Vec<u128>,
    },
    Mac(fn(&FlowRecord) -> [u8; 6], Vec<[u8; 6]>),
}

impl Cells {
    /// Returns the cells of a field; `None` if rows lack it.
    fn from_column(column: &FileColumn, node: &str) -> Option<Self> {
        Some(match column.value() {
            FieldAccessor::Unsigned(bits @ ..=32, get) => Self::Narrow(bits, get, Vec::new()),
            FieldAccessor::Unsigned(_, get) => Self::Wide(get, Vec::new()),
            FieldAccessor::Optional(bits @ ..=32, get) => Self::OptionalNarrow(bits, get, Vec::new()),
            FieldAccessor::Optional(_, get) => Self::OptionalWide(get, Vec::new()),
            FieldAccessor::Time(get) => Self::Time(get, Vec::new()),
            FieldAccessor::Address(get) => {
                Self::Address { get, masks: Masks::from_column(column), values: Vec::new() }
            }
            FieldAccessor::Mac(get) => Self::Mac(get, Vec::new()),
            FieldAccessor::Node => Self::Node(node.into()),
            FieldAccessor::EndReason(_) | FieldAccessor::Float(_) => return None,
        })
    }

    /// Returns the physical type, the logical type, and whether a row may lack the value.
    fn types(&self) -> (Physical, Option<LogicalType>, bool) {
        let with = |(physical, logical): (_, _), is_optional| (physical, logical, is_optional);
        let text = (Physical::BYTE_ARRAY, Some(LogicalType::String));
        match self {
            Self::WindowStart(_) => {
                with((Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))), false)
            }
            Self::Node(_) => with(text, false),
            Self::Narrow(bits, ..) => with(integer(*bits), false),
            Self::Wide(..) => with(integer(64), false),
            Self::OptionalNarrow(bits, ..) => with(integer(*bits), true),
            Self::OptionalWide(..) => with(integer(64), true),
            // Some engines refuse a timestamp of nanoseconds.
            Self::Time(..) => with((Physical::INT64, None), false),
            Self::Address { .. } => with((Physical::FIXED_LEN_BYTE_ARRAY, None), true),
            Self::Mac(..) => with(text, true),
        }
    }
}

impl RowColumn {
    fn new(name: impl Into<Cow<'static, str>>, cells: Cells) -> Self {
        Self { name: name.into(), cells, levels: Vec::new() }
    }

    fn from_column(column: &FileColumn, node: &str) -> Option<Self> {
        let cells = Cells::from_column(column, node)?;
        let unit = if let Cells::Time(..) = cells { "_ns" } else { "" };
        Some(Self::new(format!("{}{unit}", column.name()), cells))
    }

    /// Takes the values of a block.
    fn take(&mut self, window: RowWindow, block: &[FlowRecord]) {
        let levels = &mut self.levels;
        // A null has a level and no value.
        let mut optional = |is_there: bool| levels.push(is_there.into());
        match &mut self.cells {
            Cells::WindowStart(values) => {
                values.resize(values.len() + block.len(), (window.start_ns / 1000) as i64);
            }
            Cells::Node(_) => {}
            Cells::Narrow(_, get, values) => values.extend(block.iter().map(|record| get(record) as i32)),
            Cells::Wide(get, values) => values.extend(block.iter().map(|record| get(record) as i64)),
            Cells::Time(get, values) => values.extend(block.iter().map(|record| nanoseconds(get(record)))),
            Cells::OptionalNarrow(_, get, values) => values.extend(block.iter().filter_map(|record| {
                let value = get(record);
                optional(value.is_some());
                value.map(|value| value as i32)
            })),
            Cells::OptionalWide(get, values) => values.extend(block.iter().filter_map(|record| {
                let value = get(record);
                optional(value.is_some());
                value.map(|value| value as i64)
            })),
            Cells::Address { get, masks, values } => values.extend(block.iter().filter_map(|record| {
                let value = get(record);
                optional(value.is_some());
                value.map(|address| masks.apply(address))
            })),
            Cells::Mac(get, values) => values.extend(block.iter().filter_map(|record| {
                let value = get(record);
                let is_there = value != [0; 6];
                optional(is_there);
                is_there.then_some(value)
            })),
        }
    }

    /// Removes the values and keeps the memory.
    fn clear(&mut self) {
        self.levels.clear();
        match &mut self.cells {
            Cells::Node(_) => {}
            Cells::Narrow(_, _, values) | Cells::OptionalNarrow(_, _, values) => values.clear(),
            Cells::WindowStart(values)
            | Cells::Wide(_, values)
            | Cells::OptionalWide(_, values)
            | Cells::Time(_, values) => values.clear(),
            Cells::Address { values, .. } => values.clear(),
            Cells::Mac(_, values) => values.clear(),
        }
    }

    /// Writes the values of the first rows as a row group.
    fn write(&self, writer: &mut ColumnWriter<'_>, rows: usize) -> Result<()> {
        let levels = self.levels.get(..rows);
        let values_there = |levels: &[i16]| levels.iter().filter(|level| **level != 0).count();
        let filled = levels.map_or(rows, values_there);
        match (&self.cells, writer) {
            (Cells::Node(node), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let names = vec![node.clone(); rows.min(BATCH)];
                for start in (0..rows).step_by(BATCH) {
                    writer.write_batch(&names[..(rows - start).min(BATCH)], None, None)?;
                }
            }
            (
                Cells::Narrow(_, _, values) | Cells::OptionalNarrow(_, _, values),
                ColumnWriter::Int32ColumnWriter(writer),
            ) => {
                writer.write_batch(&values[..filled], levels, None)?;
            }
            (
                Cells::WindowStart(values)
                | Cells::Wide(_, values)
                | Cells::OptionalWide(_, values)
                | Cells::Time(_, values),
                ColumnWriter::Int64ColumnWriter(writer),
            ) => {
                writer.write_batch(&values[..filled], levels, None)?;
            }
            (Cells::Address { values, .. }, ColumnWriter::FixedLenByteArrayColumnWriter(writer)) => {
                write_bytes(writer, &self.levels[..rows], values, |bits| bits.to_be_bytes())?;
            }
            (Cells::Mac(_, values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                write_bytes(writer, &self.levels[..rows], values, |mac| {
                    let mut text = [0; MAC + LineBuffer::SLACK];
                    LineBuffer::after(&mut text, 0).mac(mac);
                    std::array::from_fn::<u8, MAC, _>(|at| text[at])
                })?;
            }
            _ => return Err(ParquetError::General("the schema does not match the columns".to_owned())),
        }
        Ok(())
    }
}

/// The columns of a run: window and node, the key, then its fields, in the order of the field table.
fn columns(key: &KeySpec, node: &str, tracked: flow::TrackedParts, parts: RowParts) -> Vec<RowColumn> {
    let mut fields = Selection::new(&RecordContents { key: *key, tracked, ..RecordContents::default() })
        .columns()
        .to_vec();
    fields.retain(|column| parts.has_means || !column.is_mean());
    fields.retain(|column| parts.has_wire_bytes || column.name() != WIRE_BYTES);
    let members: Vec<_> = key.columns().collect();
    let place = |name: &str| members.iter().position(|member| *member == name).unwrap_or(members.len());
    fields.sort_by_key(|column| (!matches!(column.value(), FieldAccessor::Node), place(column.name())));
    let mut columns = vec![RowColumn::new("window_start", Cells::WindowStart(Vec::new()))];
    columns.extend(fields.iter().filter_map(|column| RowColumn::from_column(column, node)));
    // After the node.
    columns.insert(2, RowColumn::new("ip_version", Cells::OptionalNarrow(8, ip_version, Vec::new())));
    columns
}

fn schema(columns: &[RowColumn]) -> Result<Type> {
    let columns = columns.iter().map(|column| {
        let (physical, logical, is_optional) = column.cells.types();
        let column = Type::primitive_type_builder(&column.name, physical)
            .with_logical_type(logical)
            .with_length(if physical == Physical::FIXED_LEN_BYTE_ARRAY { 16 } else { -1 })
            .with_repetition(if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED });
        Ok(Arc::new(column.build()?))
    });
    Type::group_type_builder("window_row").with_fields(columns.collect::<Result<_>>()?).build()
}

/// The file's metadata.
fn metadata(node: &str, key: &KeySpec) -> Vec<KeyValue> {
    vec![
        entry("schema", RowWriter::SCHEMA.to_string()),
        entry("version", env!("CARGO_PKG_VERSION").to_owned()),
        entry("node", node.to_owned()),
        entry("key", key.parts().join(",")),
    ]
}
