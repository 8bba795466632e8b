//! Apache Parquet, column by column from a row group's records, without Arrow.

use crate::line::LineBuffer;
use crate::parquet_file::{
    BATCH, CREATED_BY, DICTIONARY, ParquetFile, ROW_GROUP, entry, integer, nanoseconds,
};
use crate::parquet_values::{Masks, ip_version, ranged_properties, write_bytes};
use crate::target::WriteTarget;
use crate::writer::WriterReport;
use crate::{FileColumn, RecordWriter, Selection, Shortfall};
use flow::{FieldAccessor, FlowRecord};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnPath, Type};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The approximate size of a plain record in bytes.
const GUESSED: u64 = 80;
/// The longest text of a column, except the node's name, which is not formatted.
const LONGEST: usize = 48;

/// The form in which records become columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParquetLayout {
    /// Addresses as text and times with their type: for a file that people open.
    Plain,
    /// The form of window rows: for queries over many files.
    Ranged,
}

/// Writes records as Parquet. Holds a row group's records (`ROW_GROUP` of them) and one encoded column of it.
pub(crate) struct ParquetWriter {
    file: ParquetFile,
    layout: ParquetLayout,
    columns: Vec<FileColumn>,
    node: ByteArray,
    pending: Vec<FlowRecord>,
    shortfall: Shortfall,
}

impl ParquetWriter {
    pub(crate) fn new(target: WriteTarget, node: &str, selection: &Selection) -> io::Result<Self> {
        Self::to_target(target, node, selection, ParquetLayout::Plain)
    }

    /// Opens a file of a store. Addresses are 16 bytes, IPv4 as `::ffff:0:0/96`, with their family in `ip_version`. Times are plain nanoseconds.
    /// The store synchronises the file before its manifest names it.
    pub(crate) fn stored(path: &Path, node: &str, selection: &Selection) -> io::Result<Self> {
        Self::to_target(WriteTarget::open(path)?, node, selection, ParquetLayout::Ranged)
    }

    fn to_target(
        target: WriteTarget,
        node: &str,
        selection: &Selection,
        layout: ParquetLayout,
    ) -> io::Result<Self> {
        let columns = selection.columns().to_vec();
        let schema = schema(&columns, layout).map_err(io::Error::other)?;
        let properties = match layout {
            ParquetLayout::Plain => properties(&columns),
            ParquetLayout::Ranged => {
                ranged_properties(&schema, vec![entry("version", env!("CARGO_PKG_VERSION").to_owned())])
            }
        };
        let mut file = ParquetFile::new(target, schema, properties, "records")?;
        file.describe("node", node.to_owned());
        file.describe("key", selection.key_parts());
        if let Some((name, share)) = selection.share_column() {
            file.describe(name, share);
        }
        Ok(Self {
            file,
            layout,
            columns,
            node: node.into(),
            pending: Vec::with_capacity(ROW_GROUP),
            shortfall: Shortfall::default(),
        })
    }

    /// Writes what is pending as one row group.
    fn write_group(&mut self) -> io::Result<()> {
        let Self { file, layout, columns, node, pending, .. } = self;
        let result = file.write_group(pending.len(), |records, number, column| {
            let records = &pending[..records];
            match (number.checked_sub(layout.leading()), column) {
                (Some(number), column) => write_column(column, &columns[number], *layout, records, node),
                (None, ColumnWriter::Int32ColumnWriter(column)) => {
                    write_values(column, records, true, |r| ip_version(r).map(|version| version as i32))
                }
                (None, _) => Err(ParquetError::General("the schema does not match the columns".to_owned())),
            }
        });
        match result {
            Ok(()) => pending.clear(),
            Err(_) => *pending = Vec::new(),
        }
        result
    }
}

impl RecordWriter for ParquetWriter {
    fn write(&mut self, mut records: &[FlowRecord]) -> io::Result<()> {
        while !records.is_empty() {
            let (now, rest) = records.split_at(records.len().min(ROW_GROUP - self.pending.len()));
            self.pending.extend_from_slice(now);
            records = rest;
            if self.pending.len() == ROW_GROUP {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn add_shortfall(&mut self, shortfall: &Shortfall) {
        self.shortfall.add(shortfall);
    }

    fn name(&self) -> String {
        self.file.path().to_owned()
    }

    /// Returns the size of the file, where what is pending is taken to need as much as what was written, or in the first row group [`GUESSED`]
    /// bytes a record.
    fn size(&self) -> u64 {
        let (bytes, written) = (self.file.len(), self.file.rows());
        let each = bytes.checked_div(written).unwrap_or(GUESSED);
        bytes + each * self.pending.len() as u64
    }

    fn finish(mut self: Box<Self>) -> io::Result<WriterReport> {
        if !self.pending.is_empty() {
            self.write_group()?;
        }
        self.shortfall.entries().for_each(|(name, value)| self.file.describe(name, value));
        self.file.finish().map(|()| WriterReport::default())
    }
}

impl ParquetLayout {
    /// The columns before those of the selection: `ip_version`.
    fn leading(self) -> usize {
        (self == Self::Ranged).into()
    }

    /// The name of a column, with the unit of a time that has no type.
    fn name(self, column: &FileColumn) -> String {
        let unit =
            if self == Self::Ranged && matches!(column.value(), FieldAccessor::Time(_)) { "_ns" } else { "" };
        format!("{}{unit}", column.name())
    }
}

fn schema(columns: &[FileColumn], layout: ParquetLayout) -> Result<Type> {
    let is_ranged = layout == ParquetLayout::Ranged;
    let version = is_ranged.then(|| {
        let (physical, logical) = integer(8);
        Type::primitive_type_builder("ip_version", physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .map(Arc::new)
    });
    let columns = columns.iter().map(|chosen| {
        let (physical, logical) = match chosen.value() {
            // Some engines refuse a timestamp of nanoseconds.
            FieldAccessor::Time(_) if is_ranged => (Physical::INT64, None),
            FieldAccessor::Address(_) if is_ranged => (Physical::FIXED_LEN_BYTE_ARRAY, None),
            FieldAccessor::Unsigned(bits, _) | FieldAccessor::Optional(bits, _) => integer(bits),
            FieldAccessor::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
            FieldAccessor::Address(_)
            | FieldAccessor::Mac(_)
            | FieldAccessor::EndReason(_)
            | FieldAccessor::Node => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            FieldAccessor::Float(_) => (Physical::DOUBLE, None),
        };
        let repetition = if chosen.nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let name = layout.name(chosen);
        let column = Type::primitive_type_builder(&name, physical)
            .with_logical_type(logical)
            .with_length(if physical == Physical::FIXED_LEN_BYTE_ARRAY { 16 } else { -1 })
            .with_repetition(repetition);
        Ok(Arc::new(column.build()?))
    });
    let columns = version.into_iter().chain(columns).collect::<Result<_>>()?;
    Type::group_type_builder("flow_record").with_fields(columns).build()
}

fn properties(columns: &[FileColumn]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_offset_index_disabled(true);
    for chosen in columns {
        let path = ColumnPath::from(chosen.name());
        match chosen.value() {
            // Nearly all distinct, and close to one another. The range lets readers skip row groups.
            FieldAccessor::Time(_) => {
                properties = properties
                    .set_column_statistics_enabled(path.clone(), EnabledStatistics::Chunk)
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
            // Sequence numbers and addresses: the compressor achieves the same in less time.
            FieldAccessor::Unsigned(32, _) | FieldAccessor::Address(_) => {
                properties = properties.set_column_dictionary_enabled(path, false);
            }
            _ => {}
        }
    }
    properties.build()
}

/// Writes one column of a row group.
fn write_column(
    column: &mut ColumnWriter<'_>,
    chosen: &FileColumn,
    layout: ParquetLayout,
    records: &[FlowRecord],
    node: &ByteArray,
) -> Result<()> {
    let nullable = chosen.nullable();
    match (column, chosen.value()) {
        (ColumnWriter::Int32ColumnWriter(column), FieldAccessor::Unsigned(_, get)) => {
            write_values(column, records, nullable, |r| Some(get(chosen.record(r)?) as i32))
        }
        (ColumnWriter::Int64ColumnWriter(column), FieldAccessor::Unsigned(_, get)) => {
            write_values(column, records, nullable, |r| Some(get(chosen.record(r)?) as i64))
        }
        (ColumnWriter::Int32ColumnWriter(column), FieldAccessor::Optional(_, get)) => {
            write_values(column, records, nullable, |r| get(chosen.record(r)?).map(|v| v as i32))
        }
        (ColumnWriter::Int64ColumnWriter(column), FieldAccessor::Optional(_, get)) => {
            write_values(column, records, nullable, |r| get(chosen.record(r)?).map(|v| v as i64))
        }
        (ColumnWriter::Int64ColumnWriter(column), FieldAccessor::Time(get)) => {
            write_values(column, records, nullable, |r| Some(nanoseconds(get(chosen.record(r)?))))
        }
        (ColumnWriter::DoubleColumnWriter(column), FieldAccessor::Float(at)) => {
            write_values(column, records, nullable, |r| {
                chosen.record(r)?.statistic(at).filter(|v| v.is_finite())
            })
        }
        (ColumnWriter::FixedLenByteArrayColumnWriter(column), FieldAccessor::Address(get))
            if layout == ParquetLayout::Ranged =>
        {
            let masks = Masks::from_column(chosen);
            let addresses: Vec<Option<u128>> = records
                .iter()
                .map(|r| chosen.record(r).and_then(get).map(|address| masks.apply(address)))
                .collect();
            let levels: Vec<i16> = addresses.iter().map(|address| address.is_some().into()).collect();
            let there: Vec<u128> = addresses.into_iter().flatten().collect();
            write_bytes(column, &levels, &there, |bits| bits.to_be_bytes())
        }
        (ColumnWriter::ByteArrayColumnWriter(column), FieldAccessor::Address(get)) => {
            write_texts(column, records, nullable, |line, r| {
                chosen.record(r).and_then(get).map(|address| line.address(address)).is_some()
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(column), FieldAccessor::Mac(get)) => {
            write_texts(column, records, nullable, |line, r| match chosen.record(r).map(get) {
                None | Some([0, 0, 0, 0, 0, 0]) => false,
                Some(mac) => {
                    line.mac(mac);
                    true
                }
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(column), FieldAccessor::EndReason(get)) => {
            write_texts(column, records, nullable, |line, r| {
                chosen.record(r).map(|r| line.bytes(get(r).name().as_bytes())).is_some()
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(column), FieldAccessor::Node) => {
            write_values(column, records, nullable, |_| Some(node.clone()))
        }
        _ => Err(ParquetError::General("the schema does not match the field table".to_owned())),
    }
}

/// Writes what `get` returns, `None` as null (only in a nullable column).
fn write_values<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    records: &[FlowRecord],
    nullable: bool,
    get: impl Fn(&FlowRecord) -> Option<T::T>,
) -> Result<()> {
    let mut values = Vec::with_capacity(BATCH);
    let mut levels: Vec<i16> = Vec::with_capacity(BATCH);
    for batch in records.chunks(BATCH) {
        values.clear();
        levels.clear();
        for record in batch {
            let value = get(record);
            levels.push(value.is_some().into());
            values.extend(value);
        }
        column.write_batch(&values, nullable.then_some(&levels), None)?;
    }
    Ok(())
}

/// Writes what `format` appends, null if it returns false (only in a nullable column).
fn write_texts(
    column: &mut ColumnWriterImpl<'_, ByteArrayType>,
    records: &[FlowRecord],
    nullable: bool,
    format: impl Fn(&mut LineBuffer<'_>, &FlowRecord) -> bool,
) -> Result<()> {
    let mut ends = Vec::with_capacity(BATCH);
    let mut values = Vec::with_capacity(BATCH);
    let mut levels: Vec<i16> = Vec::with_capacity(BATCH);
    for batch in records.chunks(BATCH) {
        ends.clear();
        values.clear();
        levels.clear();
        // The values share it, and free it with the last of them.
        let mut text = vec![0; batch.len() * LONGEST + LineBuffer::SLACK];
        let mut line = LineBuffer::after(&mut text, 0);
        for record in batch {
            let present = format(&mut line, record);
            levels.push(present.into());
            if present {
                ends.push(line.len());
            }
        }
        let text = ByteArray::from(text);
        let mut start = 0;
        values.extend(ends.iter().map(|end| {
            let value = text.slice(start, end - start);
            start = *end;
            value
        }));
        column.write_batch(&values, nullable.then_some(&levels), None)?;
    }
    Ok(())
}
