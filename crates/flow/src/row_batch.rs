//! Rows in columns: what queries read.

use crate::{RowValue, Rows};

/// Keys and some columns of rows of one address family, in memory that is used again.
#[derive(Clone, Debug)]
pub struct RowBatch<K> {
    /// The key of each row.
    pub keys: Vec<K>,
    /// The columns by field. They are few: they are found one after the other.
    columns: Vec<(RowValue, Vec<u64>)>,
}

impl<K> Default for RowBatch<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), columns: Vec::new() }
    }
}

impl<K: Copy> RowBatch<K> {
    /// Fills the batch with rows, and with these columns of them.
    pub fn fill(&mut self, rows: &Rows<K>, columns: &[RowValue]) {
        self.keys.clear();
        self.keys.extend(rows.rows.iter().map(|row| row.key));
        for &column in columns {
            let values = self.column_mut(column);
            values.clear();
            column.extract(rows, values);
        }
    }

    /// Fills the batch with keys, and with rows of values: each row has one of each of these columns.
    pub fn refill(&mut self, keys: impl Iterator<Item = K>, columns: &[RowValue], rows: &[u64]) {
        self.keys.clear();
        self.keys.extend(keys);
        for (at, &column) in columns.iter().enumerate() {
            let values = self.column_mut(column);
            values.clear();
            // Without rows there is no first one.
            values.extend(rows.iter().skip(at).step_by(columns.len()));
        }
    }

    /// Keeps the rows that are marked.
    pub fn retain(&mut self, marks: &[bool]) {
        let mut marked = marks.iter();
        self.keys.retain(|_| marked.next().is_some_and(|mark| *mark));
        for (_, values) in &mut self.columns {
            let mut marked = marks.iter();
            values.retain(|_| marked.next().is_some_and(|mark| *mark));
        }
    }

    /// Fills the batch with the rows of these numbers of another one.
    pub fn fill_from(&mut self, other: &Self, rows: &[u32]) {
        self.keys.clear();
        self.keys.extend(rows.iter().map(|row| other.keys[*row as usize]));
        for (column, values) in &other.columns {
            let own = self.column_mut(*column);
            own.clear();
            // A column that was not filled has no values.
            own.extend(rows.iter().filter_map(|row| values.get(*row as usize)));
        }
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.columns.iter_mut().for_each(|(_, values)| values.clear());
    }

    /// Adds a row; `value` gives what it has in each column that the batch knows.
    pub fn push(&mut self, key: K, mut value: impl FnMut(RowValue) -> u64) {
        self.keys.push(key);
        self.columns.iter_mut().for_each(|(column, values)| values.push(value(*column)));
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The values of a column, by row; [`crate::NULL`] marks those that are missing. Empty for a column that was not filled.
    #[inline(always)]
    pub fn column(&self, column: RowValue) -> &[u64] {
        self.columns.iter().find(|(known, _)| *known == column).map_or(&[], |(_, values)| values)
    }

    /// Returns the values of a column, to be filled; the column is added if it is not known.
    pub fn column_mut(&mut self, column: RowValue) -> &mut Vec<u64> {
        let known = self.columns.iter().position(|(known, _)| *known == column);
        let at = known.unwrap_or_else(|| {
            self.columns.push((column, Vec::new()));
            self.columns.len() - 1
        });
        &mut self.columns[at].1
    }
}
