//! Rows of one key, merged over windows: each field as the field table says how its values come together.

use super::batch::Batch;
use super::site::Site;
use flow::{Aggregation, FIELDS, NULL, RowValue, Rows};
use packet::{KeyV4, KeyV6, MaskedKey};
use report::{Answer, Status};
use summary::{GroupTable, NO_GROUP};

/// One row for each key, with some columns.
#[derive(Debug)]
pub struct MergedRows {
    columns: Vec<RowValue>,
    rules: Vec<Aggregation>,
    v4: GroupTable<2>,
    v6: GroupTable<5>,
    /// Rows whose keys found no memory.
    unplaced: u64,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    v4: Batch<KeyV4>,
    v6: Batch<KeyV6>,
    found: Vec<u32>,
}

/// Rows that go to queries together.
const ROWS: usize = 1024;

impl MergedRows {
    pub(crate) fn new(columns: Vec<RowValue>, site: &Site) -> Self {
        let rule = |column: &RowValue| match column {
            RowValue::RttSum | RowValue::RttCount => Aggregation::Sum,
            column => {
                let field = FIELDS.iter().find(|field| field.row == *column);
                field.map_or(Aggregation::Last, |field| field.aggregation)
            }
        };
        let rules: Vec<_> = columns.iter().map(rule).collect();
        // Nothing yet; the first row sets what does not add up.
        let initial = vec![NULL; columns.len()];
        Self {
            v4: GroupTable::new(&initial, site.seed, &site.limits),
            v6: GroupTable::new(&initial, site.seed, &site.limits),
            columns,
            rules,
            unplaced: 0,
            scratch: Scratch::default(),
        }
    }

    /// Adds IPv4 rows of a window; windows come in order.
    pub fn add_v4(&mut self, rows: &Rows<KeyV4>) {
        let Self { columns, rules, v4, unplaced, scratch, .. } = self;
        scratch.v4.fill(rows, columns);
        *unplaced += add(v4, columns, rules, &scratch.v4, &mut scratch.found);
    }

    /// Adds IPv6 rows of a window.
    pub fn add_v6(&mut self, rows: &Rows<KeyV6>) {
        let Self { columns, rules, v6, unplaced, scratch, .. } = self;
        scratch.v6.fill(rows, columns);
        *unplaced += add(v6, columns, rules, &scratch.v6, &mut scratch.found);
    }

    /// Gives out all merged rows, first those of IPv4.
    pub(crate) fn each_batch(&self, mut v4: impl FnMut(&Batch<KeyV4>), mut v6: impl FnMut(&Batch<KeyV6>)) {
        each(&self.v4, &self.columns, &mut v4);
        each(&self.v6, &self.columns, &mut v6);
    }

    /// Says in an answer what it lacks.
    pub(crate) fn remark(&self, answer: &mut Answer) {
        if self.unplaced != 0 {
            answer.status = Status::Partial;
            answer.reason = Some(format!("memory ran out: {} rows are in no flow", self.unplaced));
        }
    }
}

/// Adds the rows of a batch, and gives the number of those for which there was no memory.
fn add<K: MaskedKey, const N: usize>(
    table: &mut GroupTable<N>,
    columns: &[RowValue],
    rules: &[Aggregation],
    batch: &Batch<K>,
    found: &mut Vec<u32>,
) -> u64 {
    let mut keys = [[0; N]; ROWS];
    let mut unplaced = 0;
    for start in (0..batch.len()).step_by(ROWS) {
        let rows = start..batch.len().min(start + ROWS);
        for (key, words) in batch.keys[rows.clone()].iter().zip(&mut keys) {
            words.copy_from_slice(key.words());
        }
        table.groups(&keys[..rows.len()], found);
        for (row, group) in rows.zip(found.iter()) {
            if *group == NO_GROUP {
                unplaced += 1;
                continue;
            }
            for ((merged, column), rule) in table.state_mut(*group).iter_mut().zip(columns).zip(rules) {
                let value = batch.column(*column)[row];
                *merged = match (*merged, value) {
                    (merged, NULL) => merged,
                    (NULL, value) => value,
                    (merged, value) => match rule {
                        Aggregation::Sum => merged + value,
                        Aggregation::Min => merged.min(value),
                        Aggregation::Max => merged.max(value),
                        Aggregation::Or => merged | value,
                        Aggregation::First | Aggregation::Key | Aggregation::Constant => merged,
                        Aggregation::Last | Aggregation::Mean => value,
                    },
                };
            }
        }
    }
    unplaced
}

fn each<K: MaskedKey, const N: usize>(
    table: &GroupTable<N>,
    columns: &[RowValue],
    give: &mut impl FnMut(&Batch<K>),
) {
    let mut batch = Batch::default();
    for (number, words) in table.keys().iter().enumerate() {
        batch.push(K::of_words(words), columns, table.state(number as u32));
        if batch.len() == ROWS {
            give(&batch);
            batch.clear();
        }
    }
    give(&batch);
}
