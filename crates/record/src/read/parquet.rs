//! Apache Parquet: only the columns that are wanted, row group by row group, without Arrow.

mod column;
mod cursor;
mod guard;
mod schema;
mod statistics;

use super::assemble::Assembler;
use super::columns::{ColumnSlot, InputColumns, ROWS};
use super::{BlockSink, Contents, FormatReader, ReadError, ReadProjection};
use crate::summed_file::{PositionedReader, SummedFile};
use crate::sums::SUMMED;
use cursor::Cursor;
pub(crate) use guard::guarded;
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use schema::ParquetSchema;
use std::path::{Path, PathBuf};

/// The reason why a file cannot be opened.
pub(crate) enum OpenError {
    /// Bytes that are not what was written.
    Damaged(String),
    /// A file that is no whole Parquet file.
    NoParquet(String),
}

/// Opens a file. What is read of it is checked, if it has checksums.
pub(crate) fn open_checked(
    bytes: impl PositionedReader + 'static,
) -> Result<SerializedFileReader<SummedFile>, OpenError> {
    let summed = SummedFile::new(bytes).map_err(OpenError::Damaged)?;
    let has_sums = summed.has_sums();
    let file = guarded(|| SerializedFileReader::new(summed).map_err(|error| error.to_string()));
    let file = file.map_err(OpenError::NoParquet)?;
    let writer = file.metadata().file_metadata().created_by();
    if !has_sums && writer.is_some_and(|writer| writer.ends_with(SUMMED)) {
        return Err(OpenError::Damaged("it has lost its checksums".to_owned()));
    }
    Ok(file)
}

/// A Parquet file.
pub(crate) struct ParquetReader {
    path: PathBuf,
    file: Box<dyn FileReader>,
    schema: ParquetSchema,
    contents: Contents,
    /// Flags for sources and for destinations: true if rows with one are known, by the statistics of all row groups, or because one was read.
    told: [bool; 2],
}

impl ParquetReader {
    pub(crate) fn open(path: &Path, bytes: impl PositionedReader + 'static) -> Result<Self, ReadError> {
        let file = open_checked(bytes).map_err(|error| match error {
            OpenError::Damaged(reason) => ReadError::damaged(path, reason),
            OpenError::NoParquet(reason) => {
                ReadError::not_flows(path, format!("no complete Parquet file: {reason}"))
            }
        })?;
        let metadata = file.metadata();
        let (schema, mut contents) = schema::read(metadata.file_metadata());
        if schema.columns.is_empty() {
            return Err(ReadError::not_flows(path, "no column is a field; `edison fields` lists them"));
        }
        // How a column is compressed that is no field does not matter: it is never read.
        let is_read = |number: usize| schema.columns.iter().any(|known| known.number == number);
        let chunks = metadata.row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
        let mut read = chunks.filter(|(number, _)| is_read(*number));
        if let Some(codec) = read.find_map(|(_, chunk)| unread_codec(chunk)) {
            let reason = format!(
                "its columns are compressed with {codec}, which is not read: write them with zstd, gzip, lz4 or snappy"
            );
            return Err(ReadError::not_flows(path, reason));
        }
        contents.parts = metadata.row_groups().iter().map(|group| schema::part(&schema, group)).collect();
        contents.rows = Some(contents.parts.iter().filter_map(|part| part.rows).fold(0, u64::saturating_add));
        let told = ["src_addr", "dst_addr"].map(|name| {
            let mut groups = metadata.row_groups().iter();
            groups.any(|group| schema::tells(&schema, group, name))
        });
        Ok(Self { path: path.to_owned(), schema, contents, file: Box::new(file), told })
    }
}

/// The name of a column's compression, if it is none of those that are read.
fn unread_codec(column: &ColumnChunkMetaData) -> Option<&'static str> {
    match column.compression() {
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZO => Some("lzo"),
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::LZ4
        | Compression::LZ4_RAW
        | Compression::ZSTD(_) => None,
    }
}

impl FormatReader for ParquetReader {
    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn read_part(
        &mut self,
        part: usize,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), ReadError> {
        let Self { file, schema, told, .. } = self;
        let damaged = |reason: String| {
            ReadError::damaged(
                &self.path,
                format!("row group {} of {}: {reason}", part + 1, self.contents.parts.len()),
            )
        };
        let mut columns = InputColumns::new(wanted);
        let mut assembler = Assembler::new(*told);
        if let Some(node) = &self.contents.node {
            columns.node_number(node).map_err(damaged)?;
        }
        let opened = guarded(|| {
            let group = file.get_row_group(part).map_err(|error| error.to_string())?;
            let rows = u64::try_from(group.metadata().num_rows()).map_err(|_| "a negative number of rows")?;
            let mut cursors = Vec::new();
            let mut places = schema.places(wanted, self.contents.node.is_none());
            if let ([], Some(any)) = (&places[..], schema.columns.first()) {
                // What the file says of its number of rows has to be true of a column.
                places.push((ColumnSlot::Nowhere, any));
            }
            for (place, column) in places {
                let reader = group.get_column_reader(column.number).map_err(|error| error.to_string())?;
                cursors.push(Cursor::new(place, column, reader));
            }
            Ok((rows, cursors))
        });
        let (mut rest, mut cursors) = opened.map_err(damaged)?;
        while rest != 0 {
            columns.clear();
            columns.rows = rest.min(ROWS as u64) as usize;
            // What a file from elsewhere makes the decoder do is the file's damage, not the program's end.
            guarded(|| cursors.iter_mut().try_for_each(|cursor| cursor.read(&mut columns)))
                .map_err(damaged)?;
            rest -= columns.rows as u64;
            let continues = assembler.give(&mut columns, wanted, sink);
            *told = assembler.told();
            if !continues {
                return Ok(());
            }
        }
        Ok(())
    }
}
