//! A Parquet file that grows by row groups and, after a failed write, ends behind its last whole one, so that it can be read.

use crate::sums::{SumCheckpoint, Summing};
use crate::target::WriteTarget;
use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows in a row group, whose writer holds them until it is full.
pub(crate) const ROW_GROUP: usize = 128 << 10;
/// Values handed to a column's encoder at a time: they stay in L2.
pub(crate) const BATCH: usize = 1 << 10;
/// A column's dictionary, beyond which its values are written plainly: a larger one misses the caches.
pub(crate) const DICTIONARY: usize = 64 << 10;
/// The program that writes the file, as its footer names it. It says that there are checksums: without them the file is damaged.
pub(crate) const CREATED_BY: &str = concat!("edison ", env!("CARGO_PKG_VERSION"), " (checksums)");

/// The file and its complete row groups.
pub(crate) struct ParquetFile {
    file: SerializedFileWriter<ChecksummedFile>,
    /// The word for a row in errors.
    unit: &'static str,
    whole: Vec<RowGroup>,
}

/// A row group whose bytes have all been written.
struct RowGroup {
    metadata: RowGroupMetaData,
    /// The place in the file where the row group ends.
    end: u64,
    /// The checksums of what is before the end of the row group.
    mark: SumCheckpoint,
}

/// A file, and the checksums of what was written.
struct ChecksummedFile {
    target: WriteTarget,
    summing: Summing,
    /// The footer while it is being written, which waits until the checksums before it are known.
    footer: Option<Vec<u8>>,
}

impl ChecksummedFile {
    fn new(target: WriteTarget) -> Self {
        Self { target, summing: Summing::default(), footer: None }
    }

    /// Writes the checksums and the footer.
    fn end(&mut self, footer: &[u8]) -> io::Result<()> {
        let sums = self.summing.before(footer);
        self.target.write_all(&sums)?;
        self.target.write_all(footer)
    }
}

impl Write for ChecksummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(footer) = &mut self.footer {
            footer.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let written = self.target.write(bytes)?;
        self.summing.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

impl ParquetFile {
    /// Begins a file. `unit`: the word for rows in errors.
    pub(crate) fn new(
        target: WriteTarget,
        schema: Type,
        properties: WriterProperties,
        unit: &'static str,
    ) -> io::Result<Self> {
        let file =
            SerializedFileWriter::new(ChecksummedFile::new(target), Arc::new(schema), Arc::new(properties));
        Ok(Self { file: file.map_err(into_io)?, unit, whole: Vec::new() })
    }

    /// Adds to the file's metadata.
    pub(crate) fn describe(&mut self, name: &str, value: String) {
        self.file.append_key_value_metadata(entry(name, value));
    }

    /// Writes a row group. `write` gets the number of rows that are to be written, the first of `rows`, the number of each column, and
    /// what encodes it.
    ///
    /// After an error the file takes nothing more. It ends behind its last whole row group; where none is, with as many of these
    /// rows as halving their number finds room for.
    pub(crate) fn write_group(
        &mut self,
        rows: usize,
        mut write: impl FnMut(usize, usize, &mut ColumnWriter<'_>) -> Result<()>,
    ) -> io::Result<()> {
        let Err(error) = self.encode_group(rows, &mut write) else { return Ok(()) };
        if !self.whole.is_empty() {
            return Err(self.salvage(error));
        }
        let mut fewer = rows / 2;
        while self.begin_again() {
            let is_whole = match fewer {
                0 => self.finish_file().is_ok(),
                fewer => self.encode_group(fewer, &mut write).is_ok() && self.end_file(),
            };
            if is_whole || fewer == 0 {
                break;
            }
            self.whole.clear();
            fewer /= 2;
        }
        self.target().close();
        Err(self.fault(into_io(error)))
    }

    fn target(&mut self) -> &mut WriteTarget {
        &mut self.file.inner_mut().target
    }

    /// Writes the footer, and the checksums before it.
    fn finish_file(&mut self) -> Result<()> {
        // What waits in the writer's buffer is no part of the footer.
        self.file.flush()?;
        self.file.inner_mut().footer = Some(Vec::new());
        let finished = self.file.finish().map(|_| ());
        let summed = self.file.inner_mut();
        let footer = summed.footer.take().unwrap_or_default();
        finished.and_then(|()| Ok(summed.end(&footer)?))
    }

    /// Empties the file; false where that cannot be.
    fn begin_again(&mut self) -> bool {
        let schema = self.file.schema_descr().root_schema_ptr();
        let properties = Arc::clone(self.file.properties());
        let Some(target) = self.target().begin_again() else { return false };
        match SerializedFileWriter::new(ChecksummedFile::new(target), schema, properties) {
            Ok(file) => {
                self.file = file;
                true
            }
            Err(_) => false,
        }
    }

    fn encode_group(
        &mut self,
        rows: usize,
        write: &mut impl FnMut(usize, usize, &mut ColumnWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        let mut number = 0;
        while let Some(mut column) = group.next_column()? {
            write(rows, number, column.untyped())?;
            column.close()?;
            number += 1;
        }
        group.close()?;
        self.file.flush()?;
        let metadata = self.file.flushed_row_groups().last().cloned();
        let ChecksummedFile { target, summing, .. } = self.file.inner();
        let (end, mark) = (target.len(), summing.mark());
        self.whole.extend(metadata.map(|metadata| RowGroup { metadata, end, mark }));
        Ok(())
    }

    /// The place as the user calls it.
    pub(crate) fn path(&self) -> &str {
        self.file.inner().target.path()
    }

    /// Bytes taken so far.
    pub(crate) fn len(&self) -> u64 {
        self.file.inner().target.len()
    }

    /// Rows in complete row groups.
    pub(crate) fn rows(&self) -> u64 {
        self.whole.iter().map(|group| group.metadata.num_rows() as u64).sum()
    }

    /// Ends the file, which gets its name now.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self.finish_file() {
            Ok(()) => self.target().complete(),
            Err(error) => Err(self.salvage(error)),
        }
    }

    /// The error of a file that accepts nothing more.
    pub(crate) fn closed(&self) -> io::Error {
        self.fault(io::Error::other("closed after an earlier error"))
    }

    fn fault(&self, error: io::Error) -> io::Error {
        self.file.inner().target.fault_of(error, self.rows(), self.unit)
    }

    /// Repairs the file after a failed write: truncates it to its last complete row group for which a footer fits and ends it there, so that
    /// what was written can be read.
    fn salvage(&mut self, error: ParquetError) -> io::Error {
        while !self.whole.is_empty() && !self.end_file() {
            self.whole.pop();
        }
        self.target().close();
        self.fault(into_io(error))
    }

    /// Writes a footer after the complete row groups; false if it does not fit.
    fn end_file(&mut self) -> bool {
        let Some(last) = self.whole.last() else { return false };
        let properties = self.file.properties();
        let file = FileMetaData::new(
            properties.writer_version().as_num(),
            self.rows() as i64,
            Some(properties.created_by().to_owned()),
            properties.key_value_metadata().cloned(),
            last.metadata.schema_descr_ptr(),
            None,
        );
        let groups = self.whole.iter().map(|group| group.metadata.clone()).collect();
        let mut footer = Vec::new();
        if ParquetMetaDataWriter::new(&mut footer, &ParquetMetaData::new(file, groups)).finish().is_err() {
            return false;
        }
        let (end, mark) = (last.end, last.mark.clone());
        let summed = self.file.inner_mut();
        summed.summing.go_back(&mark);
        summed.target.cut(end) && summed.end(&footer).is_ok()
    }
}

/// The types that hold an unsigned integer of `bits` bits.
pub(crate) fn integer(bits: u8) -> (Physical, Option<LogicalType>) {
    let physical = if bits > 32 { Physical::INT64 } else { Physical::INT32 };
    (physical, Some(LogicalType::integer(bits as i8, false)))
}

/// Nanoseconds in a signed type: what lies beyond the year 2262 becomes its last nanosecond.
pub(crate) fn nanoseconds(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// The underlying system error, if any.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}

/// An entry of a file's metadata.
pub(crate) fn entry(name: &str, value: String) -> KeyValue {
    KeyValue::new(format!("edison.{name}"), value)
}
