//! Rows in memory, column by column.

use super::output::SortedFile;
use super::values::BufferedColumn;
use crate::parquet_file::ROW_GROUP;
use parquet::schema::types::ColumnDescriptor;

/// A batch: rows of all columns, with what they are sorted by.
pub(super) struct ColumnBatch {
    columns: Vec<BufferedColumn>,
    pub(super) keys: SortKeys,
}

/// The keys that rows are sorted by: a time, then addresses.
#[derive(Default)]
pub(super) struct SortKeys(pub(super) Vec<(i64, [u128; 2])>);

impl SortKeys {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The numbers of the rows in their order.
    pub(super) fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.0.len() as u32).collect();
        order.sort_by_key(|row| self.0[*row as usize]);
        order
    }
}

impl ColumnBatch {
    pub(super) fn from_descriptors<'a>(columns: impl Iterator<Item = &'a ColumnDescriptor>) -> Self {
        Self { columns: columns.map(BufferedColumn::from_descriptor).collect(), keys: SortKeys::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn columns_mut(&mut self) -> &mut [BufferedColumn] {
        &mut self.columns
    }

    /// Writes the rows in their order, and removes them.
    pub(super) fn write(&mut self, output: &mut SortedFile) -> std::result::Result<(), String> {
        let order = self.keys.order();
        for rows in order.chunks(ROW_GROUP) {
            let columns = &self.columns;
            output.write_group(rows.len(), |taken, number, writer| {
                columns[number].write(writer, &rows[..taken])
            })?;
        }
        self.columns.iter_mut().for_each(BufferedColumn::clear);
        self.keys.clear();
        Ok(())
    }
}
