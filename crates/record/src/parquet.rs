//! Apache Parquet, column by column from a row group's records, without Arrow.

use crate::line::Line;
use crate::parquet_file::{BATCH, CREATED_BY, DICTIONARY, ParquetFile, ROW_GROUP, integer, nanoseconds};
use crate::target::Target;
use crate::writer::Delivery;
use crate::{Column, RecordWriter, Selection};
use flow::{FlowRecord, Value};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnPath, Type};
use std::io;
use std::sync::Arc;

/// The approximate size of a plain record in bytes.
const GUESSED: u64 = 80;
/// The longest text of a column, except the node's name, which is not formatted.
const LONGEST: usize = 48;

/// Writes records as Parquet. Holds a row group's records (`ROW_GROUP` of them) and one encoded column of it.
pub(crate) struct ParquetWriter {
    file: ParquetFile,
    columns: Vec<Column>,
    node: ByteArray,
    pending: Vec<FlowRecord>,
}

impl ParquetWriter {
    pub(crate) fn new(target: Target, node: &str, selection: &Selection) -> io::Result<Self> {
        let columns = selection.columns().to_vec();
        let schema = schema(&columns).map_err(io::Error::other)?;
        let mut file = ParquetFile::new(target, schema, properties(&columns), "records")?;
        file.describe("node", node.to_owned());
        file.describe("key", selection.key_parts());
        Ok(Self { file, columns, node: node.into(), pending: Vec::with_capacity(ROW_GROUP) })
    }

    /// Writes what is pending as one row group.
    fn write_group(&mut self) -> io::Result<()> {
        let Self { file, columns, node, pending } = self;
        let result = file.write_group(pending.len(), |records, number, column| {
            write_column(column, &columns[number], &pending[..records], node)
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

    fn name(&self) -> String {
        self.file.path().to_owned()
    }

    /// What is pending is taken to need as much as what was written, or in the first row group [`GUESSED`] bytes a record.
    fn size(&self) -> u64 {
        let (bytes, written) = (self.file.len(), self.file.rows());
        let each = bytes.checked_div(written).unwrap_or(GUESSED);
        bytes + each * self.pending.len() as u64
    }

    fn finish(mut self: Box<Self>) -> io::Result<Delivery> {
        if !self.pending.is_empty() {
            self.write_group()?;
        }
        self.file.finish().map(|()| Delivery::default())
    }
}

fn schema(columns: &[Column]) -> Result<Type> {
    let columns = columns.iter().map(|chosen| {
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
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_offset_index_disabled(true);
    for chosen in columns {
        let path = ColumnPath::from(chosen.name());
        match chosen.value() {
            // Nearly all distinct, and close to one another. The range lets readers skip row groups.
            Value::Time(_) => {
                properties = properties
                    .set_column_statistics_enabled(path.clone(), EnabledStatistics::Chunk)
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
            // Sequence numbers and addresses: the compressor achieves the same in less time.
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
        (ColumnWriter::Int64ColumnWriter(column), Value::Time(get)) => {
            write_values(column, records, nullable, |r| Some(nanoseconds(get(chosen.record(r)?))))
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
