//! The file of the copy.

use crate::parquet_file::ParquetFile;
use crate::parquet_values::ranged_properties;
use crate::target::WriteTarget;
use parquet::column::writer::ColumnWriter;
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::schema::types::Type;
use std::path::Path;
use std::sync::Arc;

pub(super) struct SortedFile(ParquetFile);

impl SortedFile {
    pub(super) fn create(
        path: &Path,
        schema: Arc<Type>,
        metadata: Vec<KeyValue>,
    ) -> std::result::Result<Self, String> {
        let target = WriteTarget::open(path).map_err(|error| error.to_string())?;
        let properties = ranged_properties(&schema, metadata);
        let schema = Arc::unwrap_or_clone(schema);
        ParquetFile::new(target, schema, properties, "rows").map(Self).map_err(|error| error.to_string())
    }

    pub(super) fn write_group(
        &mut self,
        rows: usize,
        write: impl FnMut(usize, usize, &mut ColumnWriter<'_>) -> Result<()>,
    ) -> std::result::Result<(), String> {
        self.0.write_group(rows, write).map_err(|error| error.to_string())
    }

    /// Ends the file, which gets its name. Returns its number of rows.
    pub(super) fn finish(&mut self) -> std::result::Result<u64, String> {
        self.0.finish().map(|()| self.0.rows()).map_err(|error| error.to_string())
    }

    /// Removes what was begun.
    pub(super) fn remove(path: &Path) {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        // What cannot be removed is no file of a store either.
        let _ = std::fs::remove_file(Path::new(&part));
    }
}
