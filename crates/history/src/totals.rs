//! Totals of columns: no sum of any rows is greater than that of all, which must be a number of 64 bits.

use flow::{Aggregation, FIELDS, NULL, RowValue};
use record::read::{ReadProjection, RowBlock};

/// The totals of the columns that add up, of all rows.
#[derive(Clone, Debug)]
pub(crate) struct ColumnTotals {
    totals: Vec<u64>,
}

impl ColumnTotals {
    /// Creates totals of no rows.
    pub(crate) fn new(wanted: &ReadProjection) -> Self {
        Self { totals: vec![0; wanted.columns.len()] }
    }

    /// Adds rows; refuses those whose numbers cannot be added up.
    pub(crate) fn add(&mut self, block: &RowBlock, wanted: &ReadProjection) -> Result<(), String> {
        let is_sum = |column: &RowValue| {
            FIELDS.iter().any(|field| field.row == *column && field.aggregation == Aggregation::Sum)
        };
        let columns = wanted.columns.iter().zip(&mut self.totals).filter(|(column, _)| is_sum(column));
        for (column, total) in columns {
            let outside = block.without_key.iter().map(|row| match column {
                RowValue::Packets => row.packets,
                RowValue::Bytes => row.bytes,
                RowValue::WireBytes if row.wire_bytes != NULL => row.wire_bytes,
                _ => 0,
            });
            let parts = [block.v4.column(*column), block.v6.column(*column)].map(sum_of);
            let sum = parts.iter().sum::<u128>() + outside.map(u128::from).sum::<u128>();
            let sum = u64::try_from(sum).ok().and_then(|sum| total.checked_add(sum));
            *total = sum
                .filter(|sum| *sum != NULL)
                .ok_or_else(|| format!("its {} adds up to more than 2^64", name_of(*column)))?;
        }
        Ok(())
    }
}

fn name_of(column: RowValue) -> &'static str {
    FIELDS.iter().find(|field| field.row == column).map_or("numbers", |field| field.name)
}

/// Returns the sum of the values that are there. Halves of numbers are added, which many instructions do at once: a block has far fewer than 2³² rows.
fn sum_of(values: &[u64]) -> u128 {
    let (mut low, mut high) = (0, 0);
    for value in values {
        let value = if *value == NULL { 0 } else { *value };
        low += value & u64::from(u32::MAX);
        high += value >> 32;
    }
    (u128::from(high) << 32) + u128::from(low)
}
