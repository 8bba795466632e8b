//! Reads flow files back: their columns as queries read them.
//!
//! [`FlowFile::open`] tells what a file contains, from its header, footer or first records; [`FlowFile::read_part`] gives the rows of a
//! part of it in blocks of columns, and only those columns that are wanted. Columns are found by name: those of the field table and its
//! [usual names](flow::resolve_alias). A file that another program wrote is read likewise.

mod address;
mod assemble;
mod block;
mod columns;
mod contents;
mod csv;
mod direction;
mod error;
mod gather;
mod ipfix;
mod json_lines;
mod line_source;
mod name;
mod nfdump;
mod open_fields;
mod parquet;
mod schema;
mod source;
mod text;
mod text_column;

pub(crate) use parquet::{OpenError, guarded, open_checked};

pub use address::AddressColumn;
pub use block::{ReadProjection, RowBlock, WithoutKey};
pub use contents::{Contents, FilePart, ValueRange};
pub use error::ReadError;
/// Templates of exporters, and the records that they describe.
pub use ipfix::{
    COUNTERS, Element, ExportProtocol, ExportTimes, FieldPlan, NumericElement, Octets, RecordOf,
    RecordValues, RunningTotals, Sampling, Template, TemplateRecord,
};

use crate::Format;
use crate::summed_file::SummedFile;
use source::ByteSource;
use std::fs::File;
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// A receiver of blocks; it returns false to end reading.
pub type BlockSink<'a> = dyn FnMut(&mut RowBlock) -> bool + 'a;

/// Reads one format.
trait FormatReader: Send {
    fn contents(&self) -> &Contents;

    /// Reads the rows of a part.
    fn read_part(
        &mut self,
        part: usize,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), ReadError>;

    /// Returns what the part that was read last has and did not give.
    fn passed_over(&self) -> Option<String> {
        None
    }
}

/// Checks the whole of a Parquet file that has checksums, for a reader that does not.
///
/// # Errors
/// The file cannot be read, or some of its bytes are not those that were written.
pub fn check_sums(path: &Path) -> Result<(), ReadError> {
    let file = File::open(path).map_err(|error| ReadError::not_flows(path, error))?;
    let summed = SummedFile::new(file).map_err(|reason| ReadError::damaged(path, reason))?;
    summed.check().map_err(|error| ReadError::damaged(path, error))
}

/// A flow file that is open.
pub struct FlowFile {
    path: PathBuf,
    reader: Box<dyn FormatReader>,
}

impl FlowFile {
    /// Opens a file; its suffix tells the format.
    ///
    /// # Errors
    /// Returns what is wrong, with the file's name: it cannot be opened, or is no flow file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|error| ReadError::not_flows(path, error))?;
        let reader: Box<dyn FormatReader> = match format_of(path)? {
            Format::Parquet => Box::new(parquet::ParquetReader::open(path, file)?),
            format => open_stream(format, path, Box::new(file))?,
        };
        Ok(Self { path: path.to_owned(), reader })
    }

    /// Opens a file whose bytes are in memory; the suffix of its name tells the format.
    ///
    /// # Errors
    /// Returns the errors of [`FlowFile::open`].
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Self, ReadError> {
        let reader: Box<dyn FormatReader> = match format_of(name)? {
            Format::Parquet => Box::new(parquet::ParquetReader::open(name, bytes::Bytes::from(bytes))?),
            format => open_stream(format, name, Box::new(Cursor::new(bytes)))?,
        };
        Ok(Self { path: name.to_owned(), reader })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the contents of the file.
    pub fn contents(&self) -> &Contents {
        self.reader.contents()
    }

    /// Gives the rows of a part ([`Contents::parts`]) to `sink`, block by block, until it returns false.
    ///
    /// # Errors
    /// The file is damaged, or has changed since it was opened. Blocks that were given before are right.
    pub fn read_part(
        &mut self,
        part: usize,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), ReadError> {
        self.reader.read_part(part, wanted, sink)
    }

    /// Returns what the part that was read last has and could not be read, in words; `None` if nothing.
    pub fn passed_over(&self) -> Option<String> {
        self.reader.passed_over()
    }
}

fn format_of(path: &Path) -> Result<Format, ReadError> {
    Format::from_input_path(path).map_err(|error| ReadError::not_flows(path, error))
}

/// The reader of a format that is read from its start to its end.
fn open_stream(
    format: Format,
    path: &Path,
    source: Box<dyn ByteSource>,
) -> Result<Box<dyn FormatReader>, ReadError> {
    let bytes = source::buffered(source);
    Ok(match format {
        Format::JsonLines => Box::new(json_lines::JsonLinesReader::open(path, bytes)?),
        Format::Ipfix => Box::new(ipfix::IpfixReader::open(path, bytes)?),
        _ => Box::new(csv::CsvReader::open(path, bytes)?),
    })
}
