//! Rows in columns, in memory that is used again.

use flow::{RowBatch, RowValue, Rows};
use packet::{KeyV4, KeyV6};

/// Memory that windows have in common, for rows in columns.
#[derive(Debug, Default)]
pub struct RowScratch {
    pub(crate) v4: RowBatch<KeyV4>,
    pub(crate) v6: RowBatch<KeyV6>,
}

impl RowScratch {
    /// Fills the batches with rows of both families, and with these columns of them.
    pub(crate) fn fill(&mut self, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>, columns: &[RowValue]) {
        self.v4.fill(v4, columns);
        self.v6.fill(v6, columns);
    }
}
