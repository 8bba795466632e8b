//! Rows in memory, column by column.

use super::output::Output;
use super::values::Column;
use crate::parquet_file::ROW_GROUP;
use parquet::schema::types::ColumnDescriptor;

/// A batch: rows of all columns, with what they are sorted by.
pub(super) struct Batch {
    columns: Vec<Column>,
    pub(super) keys: Keys,
}

/// The keys that rows are sorted by: a time, then addresses.
#[derive(Default)]
pub(super) struct Keys(pub(super) Vec<(i64, [u128; 2])>);

impl Keys {
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

impl Batch {
    pub(super) fn of<'a>(columns: impl Iterator<Item = &'a ColumnDescriptor>) -> Self {
        Self { columns: columns.map(Column::of).collect(), keys: Keys::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// Writes the rows in their order, and removes them.
    pub(super) fn write(&mut self, output: &mut Output) -> std::result::Result<(), String> {
        let order = self.keys.order();
        for rows in order.chunks(ROW_GROUP) {
            let columns = &self.columns;
            output.write_group(rows.len(), |taken, number, writer| {
                columns[number].write(writer, &rows[..taken])
            })?;
        }
        self.columns.iter_mut().for_each(Column::clear);
        self.keys.clear();
        Ok(())
    }
}
