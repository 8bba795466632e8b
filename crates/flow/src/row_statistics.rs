//! Statistics of the packets of few rows among many.

use crate::null::float_bits;

/// The most statistics that a row has.
pub const MAX_ROW_STATISTICS: usize = 32;

/// Statistics of some rows of a block, by the numbers of these rows: others take no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowStatistics {
    /// Numbers of rows, in increasing order.
    rows: Vec<u32>,
    /// Statistics of each row, one row after the other: bits of floating point numbers, [`crate::NULL`] where there is no value.
    values: Vec<u64>,
    /// The number of statistics of each row.
    width: usize,
}

impl RowStatistics {
    /// Adds the statistics of row number `row`, which is greater than those before. NaN is no value.
    pub(crate) fn push(&mut self, row: usize, values: &[f64]) {
        if self.rows.is_empty() {
            self.width = values.len();
        }
        debug_assert!(
            self.width == values.len() && self.rows.last().is_none_or(|last| (*last as usize) < row)
        );
        self.rows.push(row as u32);
        self.values.extend(values.iter().map(|value| float_bits(Some(*value))));
    }

    /// Removes all and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
    }

    /// Sets the values of statistic number `at` in a column of all rows.
    pub(crate) fn column(&self, at: usize, column: &mut [u64]) {
        if at >= self.width {
            return;
        }
        for (row, values) in self.rows.iter().zip(self.values.chunks(self.width)) {
            if let Some(place) = column.get_mut(*row as usize) {
                *place = values[at];
            }
        }
    }

    /// Number of rows that have any.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if no row has any.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of those that are there.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + size_of_val(&self.values[..])
    }
}

#[cfg(test)]
mod tests {
    use crate::{NULL, RowBatch, RowValue, Rows, WindowRow};

    #[test]
    fn rows_without_statistics_are_null() {
        let mut rows = Rows::<u32>::default();
        for at in 0..5_u64 {
            if at % 2 == 1 {
                rows.push_statistics(&[at as f64, f64::NAN]);
            }
            rows.push(WindowRow { packets: at, ..WindowRow::default() }, None);
        }
        let columns =
            [RowValue::Packets, RowValue::Statistic(0), RowValue::Statistic(1), RowValue::Statistic(2)];
        let mut batch = RowBatch::default();
        batch.fill(&rows, &columns);
        assert_eq!(batch.column(columns[0]), [0, 1, 2, 3, 4]);
        assert_eq!(batch.column(columns[1]), [NULL, 1.0_f64.to_bits(), NULL, 3.0_f64.to_bits(), NULL]);
        assert_eq!(batch.column(columns[2]), [NULL; 5]);
        assert_eq!(batch.column(columns[3]), [NULL; 5]);
        assert_eq!((rows.statistics.len(), rows.statistics.bytes()), (2, 2 * 4 + 4 * 8));
        rows.clear();
        // Other statistics may follow.
        rows.push_statistics(&[7.0]);
        rows.push(WindowRow::default(), None);
        batch.fill(&rows, &columns);
        assert_eq!(
            (batch.column(columns[1]), batch.column(columns[2])),
            (&[7.0_f64.to_bits()][..], &[NULL][..])
        );
    }
}
