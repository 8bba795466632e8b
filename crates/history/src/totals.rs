//! Totals of columns: no sum of any rows is greater than that of all, which must be a number of 64 bits.

use flow::{Aggregation, FIELDS, NULL, RowValue, Untold};
use record::read::{RowBlock, Wanted};

/// The totals of the columns that add up, of all rows.
#[derive(Clone, Debug)]
pub(crate) struct ColumnTotals {
    totals: Vec<u64>,
    /// The numbers of rows without a count of packets and without a count of layer-3 bytes. Files of other programs have such rows.
    unknown: [u64; 2],
}

/// The columns that count as 0 where a row does not tell them.
const COUNTED: [RowValue; 2] = [RowValue::Packets, RowValue::Bytes];

impl ColumnTotals {
    /// None as yet.
    pub(crate) fn new(wanted: &Wanted) -> Self {
        Self { totals: vec![0; wanted.columns.len()], unknown: [0; 2] }
    }

    /// Returns a sentence on rows that do not tell the values of these columns, if there are any.
    pub(crate) fn unknown(&self, columns: &[RowValue]) -> Vec<String> {
        let mut untold = Untold::default();
        for (column, rows) in COUNTED.iter().zip(self.unknown).filter(|(column, _)| columns.contains(column))
        {
            let _ = untold.add_named(name_of(*column), rows);
        }
        model::untold_sentences(&untold)
    }

    /// Adds rows; refuses those whose numbers cannot be added up.
    pub(crate) fn add(&mut self, block: &RowBlock, wanted: &Wanted) -> Result<(), String> {
        let is_sum = |column: &RowValue| {
            FIELDS.iter().any(|field| field.row == *column && field.aggregation == Aggregation::Sum)
        };
        let columns = wanted.columns.iter().zip(&mut self.totals).filter(|(column, _)| is_sum(column));
        for (column, total) in columns {
            let outside = block.without_key.iter().map(|row| match column {
                RowValue::Packets => row.packets,
                RowValue::Bytes => row.bytes,
                RowValue::WireBytes => row.wire_bytes,
                _ => 0,
            });
            let parts = [block.v4.column(*column), block.v6.column(*column)].map(sum_of);
            let rows = parts.iter().map(|(sum, _)| sum).sum::<u128>();
            if let Some(at) = COUNTED.iter().position(|counted| counted == column) {
                self.unknown[at] += parts.iter().map(|(_, unknown)| unknown).sum::<u64>();
            }
            let sum = rows + outside.map(u128::from).sum::<u128>();
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

/// The sum of the values that are there, and how many are not. Halves of numbers are added, which many instructions do at once: a block has far fewer than 2³² rows.
fn sum_of(values: &[u64]) -> (u128, u64) {
    let (mut low, mut high, mut unknown) = (0, 0, 0);
    for value in values {
        unknown += u64::from(*value == NULL);
        let value = if *value == NULL { 0 } else { *value };
        low += value & u64::from(u32::MAX);
        high += value >> 32;
    }
    ((u128::from(high) << 32) + u128::from(low), unknown)
}
