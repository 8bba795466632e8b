//! The values of a column in memory, as they are stored.

use crate::parquet_file::BATCH;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;
use std::mem;

/// Rows that are read at a time: they stay in L2.
const CHUNK: usize = 4096;

/// A column: a value of each row, also where there is none.
pub(super) struct BufferedColumn {
    values: ColumnValues,
    /// Flags of rows: true if the row has a value; empty if all have.
    is_there: Vec<bool>,
    is_optional: bool,
}

enum ColumnValues {
    I32(Vec<i32>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    /// Bytes, and where those of each row end.
    Bytes(Vec<u8>, Vec<u32>),
    /// Bytes of the same number for each row.
    Fixed(Vec<u8>, usize),
}

impl BufferedColumn {
    pub(super) fn from_descriptor(descriptor: &ColumnDescriptor) -> Self {
        let values = match descriptor.physical_type() {
            Physical::INT32 => ColumnValues::I32(Vec::new()),
            Physical::INT64 => ColumnValues::I64(Vec::new()),
            Physical::DOUBLE => ColumnValues::F64(Vec::new()),
            Physical::FIXED_LEN_BYTE_ARRAY => {
                ColumnValues::Fixed(Vec::new(), usize::try_from(descriptor.type_length()).unwrap_or(0))
            }
            _ => ColumnValues::Bytes(Vec::new(), Vec::new()),
        };
        Self { values, is_there: Vec::new(), is_optional: descriptor.max_def_level() != 0 }
    }

    pub(super) fn clear(&mut self) {
        self.is_there.clear();
        match &mut self.values {
            ColumnValues::I32(values) => values.clear(),
            ColumnValues::I64(values) => values.clear(),
            ColumnValues::F64(values) => values.clear(),
            ColumnValues::Fixed(bytes, _) => bytes.clear(),
            ColumnValues::Bytes(bytes, ends) => {
                bytes.clear();
                ends.clear();
            }
        }
    }

    /// Integers of 64 bits; a row without one has 0.
    pub(super) fn integers(&self) -> &[i64] {
        if let ColumnValues::I64(values) = &self.values { values } else { &[] }
    }

    /// The 16 bytes of each row; one without has zeros.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u128> + '_ {
        let bytes: &[u8] = match &self.values {
            ColumnValues::Fixed(bytes, 16) => bytes,
            _ => &[],
        };
        bytes.chunks_exact(16).map(|bytes| u128::from_be_bytes(std::array::from_fn(|at| bytes[at])))
    }

    /// Appends the rows that are marked, of all `marks.len()`; all without marks.
    pub(super) fn read(
        &mut self,
        reader: ColumnReader,
        rows: usize,
        marks: Option<&[bool]>,
    ) -> std::result::Result<(), String> {
        let Self { values, is_there, is_optional } = self;
        let flags = is_optional.then_some(is_there);
        match (reader, values) {
            (ColumnReader::Int32ColumnReader(reader), ColumnValues::I32(values)) => {
                take(reader, rows, marks, flags, |value| values.push(value.copied().unwrap_or(0)))
            }
            (ColumnReader::Int64ColumnReader(reader), ColumnValues::I64(values)) => {
                take(reader, rows, marks, flags, |value| values.push(value.copied().unwrap_or(0)))
            }
            (ColumnReader::DoubleColumnReader(reader), ColumnValues::F64(values)) => {
                take(reader, rows, marks, flags, |value| values.push(value.copied().unwrap_or(0.0)))
            }
            (ColumnReader::ByteArrayColumnReader(reader), ColumnValues::Bytes(bytes, ends)) => {
                take(reader, rows, marks, flags, |value| {
                    bytes.extend_from_slice(value.map_or(&[], ByteArray::data));
                    ends.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
                })?;
                if u32::try_from(bytes.len()).is_err() {
                    Err("its texts are too long".to_owned())
                } else {
                    Ok(())
                }
            }
            (ColumnReader::FixedLenByteArrayColumnReader(reader), ColumnValues::Fixed(bytes, width)) => {
                let mut is_wrong = false;
                take(reader, rows, marks, flags, |value| match value.map(|value| value.data()) {
                    Some(value) if value.len() == *width => bytes.extend_from_slice(value),
                    Some(_) => is_wrong = true,
                    None => bytes.resize(bytes.len() + *width, 0),
                })?;
                if is_wrong { Err("a value has another length than its column".to_owned()) } else { Ok(()) }
            }
            _ => Err("a column has another type than its file says".to_owned()),
        }
    }

    /// Writes the values of these rows.
    pub(super) fn write(&self, writer: &mut ColumnWriter<'_>, rows: &[u32]) -> Result<()> {
        let levels: Vec<i16> = if self.is_optional {
            rows.iter().map(|row| self.is_there[*row as usize].into()).collect()
        } else {
            Vec::new()
        };
        let levels = self.is_optional.then_some(&levels[..]);
        let there: Vec<usize> = rows
            .iter()
            .map(|row| *row as usize)
            .filter(|row| !self.is_optional || self.is_there[*row])
            .collect();
        match (writer, &self.values) {
            (ColumnWriter::Int32ColumnWriter(writer), ColumnValues::I32(values)) => {
                let values: Vec<i32> = there.iter().map(|row| values[*row]).collect();
                writer.write_batch(&values, levels, None)?;
            }
            (ColumnWriter::Int64ColumnWriter(writer), ColumnValues::I64(values)) => {
                let values: Vec<i64> = there.iter().map(|row| values[*row]).collect();
                writer.write_batch(&values, levels, None)?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), ColumnValues::F64(values)) => {
                let values: Vec<f64> = there.iter().map(|row| values[*row]).collect();
                writer.write_batch(&values, levels, None)?;
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(writer), ColumnValues::Fixed(bytes, width)) => {
                write_bytes(writer, levels, &there, |row| &bytes[row * width..][..*width])?;
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), ColumnValues::Bytes(bytes, ends)) => {
                write_bytes(writer, levels, &there, |row| {
                    let start = row.checked_sub(1).map_or(0, |before| ends[before]);
                    &bytes[start as usize..ends[row] as usize]
                })?;
            }
            _ => return Err(ParquetError::General("the schema does not match the columns".to_owned())),
        }
        Ok(())
    }
}

/// Writes values of bytes, those of the rows that have any.
fn write_bytes<'a, T>(
    writer: &mut ColumnWriterImpl<'_, T>,
    levels: Option<&[i16]>,
    rows: &[usize],
    value: impl Fn(usize) -> &'a [u8],
) -> Result<()>
where
    T: DataType,
    T::T: From<ByteArray>,
{
    let count = levels.map_or(rows.len(), <[i16]>::len);
    let mut rest = rows;
    for start in (0..count).step_by(BATCH) {
        let levels = levels.map(|levels| &levels[start..(start + BATCH).min(count)]);
        let values = match levels {
            Some(levels) => levels.iter().filter(|level| **level != 0).count(),
            None => rest.len().min(BATCH),
        };
        let (now, later) = rest.split_at(values);
        rest = later;
        let mut bytes = Vec::new();
        let ends: Vec<usize> = now
            .iter()
            .map(|row| {
                bytes.extend_from_slice(value(*row));
                bytes.len()
            })
            .collect();
        // The values share it, and free it with the last of them.
        let bytes = ByteArray::from(bytes);
        let mut from = 0;
        let cut = |end: &usize| {
            let start = mem::replace(&mut from, *end);
            T::T::from(bytes.slice(start, end - start))
        };
        let values: Vec<T::T> = ends.iter().map(cut).collect();
        writer.write_batch(&values, levels, None)?;
    }
    Ok(())
}

/// Reads the values of a row group, and gives those of the marked rows to `push`.
fn take<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    marks: Option<&[bool]>,
    mut is_there: Option<&mut Vec<bool>>,
    mut push: impl FnMut(Option<&T::T>),
) -> std::result::Result<(), String> {
    let (mut values, mut levels): (Vec<T::T>, Vec<i16>) = Default::default();
    let mut done = 0;
    while done < rows {
        values.clear();
        levels.clear();
        let most = (rows - done).min(CHUNK);
        let read = reader.read_records(most, Some(&mut levels), None, &mut values);
        let (records, ..) = read.map_err(|error| error.to_string())?;
        let counts = (records, if is_there.is_some() { levels.len() } else { values.len() });
        if counts.0 == 0 || counts.0 != counts.1 {
            return Err("it has fewer values than rows".to_owned());
        }
        let mut next = values.iter();
        for row in 0..records {
            let value = if is_there.is_some() && levels[row] == 0 {
                None
            } else {
                Some(next.next().ok_or("it has fewer values than rows")?)
            };
            if marks.is_none_or(|marks| marks[done + row]) {
                push(value);
                if let Some(flags) = &mut is_there {
                    flags.push(value.is_some());
                }
            }
        }
        done += records;
    }
    Ok(())
}
