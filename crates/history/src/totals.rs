//! Totals of columns: no sum of any rows is greater than that of all, which must be a number of 64 bits.

use flow::{Aggregation, FIELDS, NULL, RowValue};
use record::read::{RowBlock, Wanted};

/// The totals of the columns that add up, of all rows.
#[derive(Clone, Debug)]
pub(crate) struct ColumnTotals(Vec<u64>);

impl ColumnTotals {
    /// None as yet.
    pub(crate) fn new(wanted: &Wanted) -> Self {
        Self(vec![0; wanted.columns.len()])
    }

    /// Adds rows; refuses those whose numbers cannot be added up.
    pub(crate) fn add(&mut self, block: &RowBlock, wanted: &Wanted) -> Result<(), String> {
        let is_sum = |column: &RowValue| {
            FIELDS.iter().any(|field| field.row == *column && field.aggregation == Aggregation::Sum)
        };
        let columns = wanted.columns.iter().zip(&mut self.0).filter(|(column, _)| is_sum(column));
        for (column, total) in columns {
            let outside = block.without_key.iter().map(|row| match column {
                RowValue::Packets => row.packets,
                RowValue::Bytes => row.bytes,
                RowValue::WireBytes => row.wire_bytes,
                _ => 0,
            });
            let rows = sum_of(block.v4.column(*column)) + sum_of(block.v6.column(*column));
            let sum = rows + outside.map(u128::from).sum::<u128>();
            let sum = u64::try_from(sum).ok().and_then(|sum| total.checked_add(sum));
            *total = sum.filter(|sum| *sum != NULL).ok_or_else(|| {
                let field =
                    FIELDS.iter().find(|field| field.row == *column).map_or("numbers", |field| field.name);
                format!("its {field} adds up to more than 2^64")
            })?;
        }
        Ok(())
    }
}

/// The sum of the values that are there. Halves of numbers are added, which many instructions do at once: a block has far fewer than 2³² rows.
fn sum_of(values: &[u64]) -> u128 {
    let (mut low, mut high) = (0, 0);
    for value in values {
        let value = if *value == NULL { 0 } else { *value };
        low += value & u64::from(u32::MAX);
        high += value >> 32;
    }
    (u128::from(high) << 32) + u128::from(low)
}
