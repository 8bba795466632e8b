//! Rows in columns: the input of a query's operators.

use flow::{RowValue, Rows};

/// Keys and columns of some rows of one address family.
#[derive(Debug)]
pub(crate) struct Batch<K> {
    pub(crate) keys: Vec<K>,
    /// By [`RowValue`]; those that no query needs are empty.
    columns: [Vec<u64>; RowValue::COUNT],
}

impl<K> Default for Batch<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), columns: [const { Vec::new() }; RowValue::COUNT] }
    }
}

impl<K: Copy> Batch<K> {
    /// Fills it with rows, and with these columns of them.
    pub(crate) fn fill(&mut self, rows: &Rows<K>, columns: &[RowValue]) {
        self.keys.clear();
        self.keys.extend(rows.rows.iter().map(|row| row.key));
        for &column in columns {
            let values = &mut self.columns[column as usize];
            values.clear();
            column.extract(rows, values);
        }
    }

    /// Fills it with keys, and with rows of values: each row has one of each of these columns.
    pub(crate) fn refill(&mut self, keys: impl Iterator<Item = K>, columns: &[RowValue], rows: &[u64]) {
        self.keys.clear();
        self.keys.extend(keys);
        for (at, &column) in columns.iter().enumerate() {
            let values = &mut self.columns[column as usize];
            values.clear();
            values.extend(rows[at..].iter().step_by(columns.len()));
        }
    }

    /// Keeps the rows that are marked.
    pub(crate) fn retain(&mut self, columns: &[RowValue], marks: &[bool]) {
        let mut marked = marks.iter();
        self.keys.retain(|_| marked.next().is_some_and(|mark| *mark));
        for &column in columns {
            let mut marked = marks.iter();
            self.columns[column as usize].retain(|_| marked.next().is_some_and(|mark| *mark));
        }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The values of a column, by row.
    #[inline(always)]
    pub(crate) fn column(&self, column: RowValue) -> &[u64] {
        &self.columns[column as usize]
    }
}
