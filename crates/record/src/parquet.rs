//! Apache Parquet, column by column from a row group's records, without Arrow in between.

use crate::line::Line;
use crate::target::Target;
use crate::writer::Delivery;
use crate::{Column, RecordWriter, Selection};
use flow::{FlowRecord, Value};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::io::{self, Write};
use std::sync::Arc;

/// Records in a row group, held until it is full.
const ROW_GROUP: usize = 128 << 10;
/// Values handed to a column's encoder at a time: they stay in L2.
const BATCH: usize = 1 << 10;
/// A column's dictionary, beyond which its values are written plainly: a larger one misses the caches.
const DICTIONARY: usize = 64 << 10;
/// Bytes that a plain record takes, about.
const GUESSED: u64 = 80;
/// No text of a column is longer, but the node's name, which is not formatted.
const LONGEST: usize = 48;

/// Writes records as Parquet. Holds a row group's records (`ROW_GROUP` of them) and one encoded column of it.
pub(crate) struct ParquetWriter {
    file: SerializedFileWriter<Target>,
    columns: Vec<Column>,
    node: ByteArray,
    pending: Vec<FlowRecord>,
    whole: Vec<RowGroup>,
}

/// A row group whose bytes have all been taken.
struct RowGroup {
    metadata: RowGroupMetaData,
    /// Where it ends in the file.
    end: u64,
}

impl ParquetWriter {
    pub(crate) fn new(target: Target, node: &str, selection: &Selection) -> io::Result<Self> {
        let columns = selection.columns().to_vec();
        let file = schema(&columns)
            .and_then(|schema| {
                SerializedFileWriter::new(target, Arc::new(schema), Arc::new(properties(&columns)))
            })
            .map_err(into_io)?;
        Ok(Self {
            file,
            columns,
            node: node.into(),
            pending: Vec::with_capacity(ROW_GROUP),
            whole: Vec::new(),
        })
    }

    /// Writes what is pending as one row group.
    fn write_group(&mut self) -> io::Result<()> {
        if let Err(error) = self.encode_group() {
            return Err(self.salvage(error));
        }
        let metadata = self.file.flushed_row_groups().last().cloned();
        let end = self.file.inner().len();
        self.whole.extend(metadata.map(|metadata| RowGroup { metadata, end }));
        self.pending.clear();
        Ok(())
    }

    fn encode_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for chosen in &self.columns {
            let Some(mut column) = group.next_column()? else { break };
            write_column(column.untyped(), chosen, &self.pending, &self.node)?;
            column.close()?;
        }
        group.close()?;
        Ok(self.file.flush()?)
    }

    /// After a failed write: cuts the file back to its last whole row group for which a footer fits and ends it
    /// there, so that what was written can be read.
    fn salvage(&mut self, error: ParquetError) -> io::Error {
        while !self.whole.is_empty() && !self.end_file() {
            self.whole.pop();
        }
        let records = self.whole.iter().map(|group| group.metadata.num_rows() as u64).sum();
        let target = self.file.inner_mut();
        target.close();
        self.pending = Vec::new();
        target.fault(into_io(error), records)
    }

    /// Puts a footer behind the whole row groups; false where it does not fit.
    fn end_file(&mut self) -> bool {
        let Some(last) = self.whole.last() else { return false };
        let properties = self.file.properties();
        let file = FileMetaData::new(
            properties.writer_version().as_num(),
            self.whole.iter().map(|group| group.metadata.num_rows()).sum(),
            Some(properties.created_by().to_owned()),
            None,
            last.metadata.schema_descr_ptr(),
            None,
        );
        let groups = self.whole.iter().map(|group| group.metadata.clone()).collect();
        let mut footer = Vec::new();
        if ParquetMetaDataWriter::new(&mut footer, &ParquetMetaData::new(file, groups)).finish().is_err() {
            return false;
        }
        let end = last.end;
        let target = self.file.inner_mut();
        target.cut(end) && target.write_all(&footer).is_ok()
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

    /// What is pending is taken to need as much as what was written, or in the first row group [`GUESSED`] bytes a record.
    fn size(&self) -> u64 {
        let bytes = self.file.inner().len();
        let written: i64 = self.whole.iter().map(|group| group.metadata.num_rows()).sum();
        let each = if written == 0 { GUESSED } else { bytes / written as u64 };
        bytes + each * self.pending.len() as u64
    }

    fn finish(mut self: Box<Self>) -> io::Result<Delivery> {
        if !self.pending.is_empty() {
            self.write_group()?;
        }
        match self.file.finish() {
            Ok(_) => self.file.inner_mut().complete().map(|()| Delivery::default()),
            Err(error) => Err(self.salvage(error)),
        }
    }
}

/// The system's own error where there is one below.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}

fn schema(columns: &[Column]) -> Result<Type> {
    let columns = columns.iter().map(|chosen| {
        let integer = |bits: u8| {
            let physical = if bits > 32 { Physical::INT64 } else { Physical::INT32 };
            (physical, Some(LogicalType::integer(bits as i8, false)))
        };
        let (physical, logical) = match chosen.value() {
            Value::Unsigned(bits, _) | Value::Optional(bits, _) => integer(bits),
            Value::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
            Value::Address(_) | Value::Mac(_) | Value::EndReason(_) | Value::Node => {
                (Physical::BYTE_ARRAY, Some(LogicalType::String))
            }
            Value::Float(_) => (Physical::DOUBLE, None),
        };
        let repetition = if chosen.nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder(chosen.name(), physical)
            .with_logical_type(logical)
            .with_repetition(repetition);
        Ok(Arc::new(column.build()?))
    });
    Type::group_type_builder("flow_record").with_fields(columns.collect::<Result<_>>()?).build()
}

fn properties(columns: &[Column]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("edison ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_offset_index_disabled(true);
    for chosen in columns {
        let path = ColumnPath::from(chosen.name());
        match chosen.value() {
            // Nearly all different, and close to one another. The range lets readers skip row groups.
            Value::Time(_) => {
                properties = properties
                    .set_column_statistics_enabled(path.clone(), EnabledStatistics::Chunk)
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
            // Sequence numbers and addresses: the compressor does as well, in less time.
            Value::Unsigned(32, _) | Value::Address(_) => {
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
    chosen: &Column,
    records: &[FlowRecord],
    node: &ByteArray,
) -> Result<()> {
    let nullable = chosen.nullable();
    match (column, chosen.value()) {
        (ColumnWriter::Int32ColumnWriter(column), Value::Unsigned(_, get)) => {
            write_values(column, records, nullable, |r| Some(get(chosen.record(r)?) as i32))
        }
        (ColumnWriter::Int64ColumnWriter(column), Value::Unsigned(_, get)) => {
            write_values(column, records, nullable, |r| Some(get(chosen.record(r)?) as i64))
        }
        (ColumnWriter::Int32ColumnWriter(column), Value::Optional(_, get)) => {
            write_values(column, records, nullable, |r| get(chosen.record(r)?).map(|v| v as i32))
        }
        (ColumnWriter::Int64ColumnWriter(column), Value::Optional(_, get)) => {
            write_values(column, records, nullable, |r| get(chosen.record(r)?).map(|v| v as i64))
        }
        // The type is signed: what lies beyond the year 2262 becomes its last nanosecond.
        (ColumnWriter::Int64ColumnWriter(column), Value::Time(get)) => {
            write_values(column, records, nullable, |r| {
                Some(i64::try_from(get(chosen.record(r)?)).unwrap_or(i64::MAX))
            })
        }
        (ColumnWriter::DoubleColumnWriter(column), Value::Float(at)) => {
            write_values(column, records, nullable, |r| {
                chosen.record(r)?.statistic(at).filter(|v| v.is_finite())
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(column), Value::Address(get)) => {
            write_texts(column, records, nullable, |line, r| {
                chosen.record(r).and_then(get).map(|address| line.address(address)).is_some()
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(column), Value::Mac(get)) => {
            write_texts(column, records, nullable, |line, r| match chosen.record(r).map(get) {
                None | Some([0, 0, 0, 0, 0, 0]) => false,
                Some(mac) => {
                    line.mac(mac);
                    true
                }
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(column), Value::EndReason(get)) => {
            write_texts(column, records, nullable, |line, r| {
                chosen.record(r).map(|r| line.bytes(get(r).name().as_bytes())).is_some()
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(column), Value::Node) => {
            write_values(column, records, nullable, |_| Some(node.clone()))
        }
        _ => Err(ParquetError::General("the schema does not match the field table".to_owned())),
    }
}

/// Writes what `get` gives, `None` as null (only in a nullable column).
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

/// Writes what `format` appends, null where it gives false (only in a nullable column).
fn write_texts(
    column: &mut ColumnWriterImpl<'_, ByteArrayType>,
    records: &[FlowRecord],
    nullable: bool,
    format: impl Fn(&mut Line<'_>, &FlowRecord) -> bool,
) -> Result<()> {
    let mut ends = Vec::with_capacity(BATCH);
    let mut values = Vec::with_capacity(BATCH);
    let mut levels: Vec<i16> = Vec::with_capacity(BATCH);
    for batch in records.chunks(BATCH) {
        ends.clear();
        values.clear();
        levels.clear();
        // The values share it, and free it with the last of them.
        let mut text = vec![0; batch.len() * LONGEST + Line::SLACK];
        let mut line = Line::after(&mut text, 0);
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
