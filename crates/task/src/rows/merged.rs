//! Rows of one key, merged over windows: each field by its aggregation in the field table.

use super::aggregates::total;
use crate::plan_context::PlanContext;
use flow::{Aggregation, Field, NULL, RowBatch, RowValue, Rows};
use flowtable::{GroupTable, NO_GROUP};
use packet::{KeyV4, KeyV6, MaskedKey};
use std::ops::Range;

/// The rows of each key, merged into one with some columns.
#[derive(Debug)]
pub(crate) struct MergedRows {
    columns: Vec<RowValue>,
    rules: Vec<Aggregation>,
    /// Rows come in any order: where first and last values are, by their times.
    times: Option<TimeColumns>,
    tables: MergeTables,
    /// Rows whose keys had no memory.
    unplaced: u64,
    scratch: MergeScratch,
}

/// The rows by their keys.
#[derive(Debug)]
enum MergeTables {
    Flows(GroupTable<2>, GroupTable<5>),
    /// The rows by their keys and by these columns: by the values of packets.
    Split(Vec<RowValue>, GroupTable<6>, GroupTable<9>),
}

/// Calls a function for the table of IPv4 (0) or IPv6 (1), and the columns that it has rows apart by.
macro_rules! with_table {
    ($tables:expr, 0, |$table:ident, $split:ident| $body:expr) => {
        match $tables {
            MergeTables::Flows($table, _) => {
                let $split: &[RowValue] = &[];
                $body
            }
            MergeTables::Split($split, $table, _) => $body,
        }
    };
    ($tables:expr, 1, |$table:ident, $split:ident| $body:expr) => {
        match $tables {
            MergeTables::Flows(_, $table) => {
                let $split: &[RowValue] = &[];
                $body
            }
            MergeTables::Split($split, _, $table) => $body,
        }
    };
}

/// A value that no row has set: a first packet's may be null, and so may that of all packets.
const UNSET: u64 = NULL - 1;

/// The places of the columns of the first and the last time.
#[derive(Clone, Copy, Debug)]
struct TimeColumns {
    first: usize,
    last: usize,
}

#[derive(Debug, Default)]
struct MergeScratch {
    v4: RowBatch<KeyV4>,
    v6: RowBatch<KeyV6>,
    found: Vec<u32>,
    /// Numbers of rows whose keys had no memory.
    without_place: Vec<u32>,
}

/// Rows that go to queries together.
const ROWS: usize = 1024;

impl MergedRows {
    pub(crate) fn new(columns: Vec<RowValue>, site: &PlanContext) -> Self {
        Self::for_pass(columns, site, 0)
    }

    /// Creates merged rows for the rows of a [pass](PlanContext::passes).
    pub(crate) fn for_pass(columns: Vec<RowValue>, site: &PlanContext, pass: usize) -> Self {
        let rules: Vec<_> = columns.iter().map(|column| Field::aggregation_of(*column)).collect();
        // Sums begin at zero; the first row sets everything else.
        let initial = rules.iter().map(|rule| match rule {
            Aggregation::Sum => 0,
            Aggregation::First | Aggregation::Same => UNSET,
            _ => NULL,
        });
        let initial: Vec<_> = initial.collect();
        let PlanContext { seed, limits, .. } = site;
        let split = site.apart(pass).columns();
        Self {
            tables: match split.is_empty() {
                true => MergeTables::Flows(
                    GroupTable::new(&initial, *seed, limits),
                    GroupTable::new(&initial, *seed, limits),
                ),
                false => MergeTables::Split(
                    split,
                    GroupTable::new(&initial, *seed, limits),
                    GroupTable::new(&initial, *seed, limits),
                ),
            },
            columns,
            rules,
            times: None,
            unplaced: 0,
            scratch: MergeScratch::default(),
        }
    }

    /// Creates merged rows for rows that come in any order: where first or last values are among the columns, they have those of
    /// [times](columns_of_any_order) too.
    pub(crate) fn for_any_order(columns: &[RowValue], site: &PlanContext) -> Self {
        let columns = columns_of_any_order(columns);
        let mut rows = Self::new(columns, site);
        let place = |of: RowValue| rows.columns.iter().position(|column| *column == of);
        if rows.rules.iter().any(|rule| is_by_time(*rule))
            && let (Some(first), Some(last)) = (place(RowValue::First), place(RowValue::Last))
        {
            rows.times = Some(TimeColumns { first, last });
        }
        rows
    }

    /// Creates a table without rows that merges in the same way.
    pub(crate) fn empty(&self, site: &PlanContext, pass: usize) -> Self {
        Self { times: self.times, ..Self::for_pass(self.columns.clone(), site, pass) }
    }

    /// Adds IPv4 rows in columns; returns those whose keys had no memory, if there are any.
    pub(crate) fn add_batch_v4(&mut self, batch: &RowBatch<KeyV4>) -> Option<RowBatch<KeyV4>> {
        let Self { columns, rules, times, tables, unplaced, scratch, .. } = self;
        with_table!(tables, 0, |table, split| {
            add_batch(table, (columns, rules, *times, split), batch, scratch, unplaced)
        })
    }

    /// Adds IPv6 rows in columns, as [`Self::add_batch_v4`].
    pub(crate) fn add_batch_v6(&mut self, batch: &RowBatch<KeyV6>) -> Option<RowBatch<KeyV6>> {
        let Self { columns, rules, times, tables, unplaced, scratch, .. } = self;
        with_table!(tables, 1, |table, split| {
            add_batch(table, (columns, rules, *times, split), batch, scratch, unplaced)
        })
    }

    /// Adds IPv4 rows, of windows or of ended records; those of one key must be added in order.
    pub(crate) fn add_v4(&mut self, rows: &Rows<KeyV4>) {
        let Self { columns, rules, times, tables, unplaced, scratch, .. } = self;
        scratch.v4.fill(rows, columns);
        *unplaced += with_table!(tables, 0, |table, split| {
            add(table, (columns, rules, *times, split), &scratch.v4, &mut scratch.found)
        });
    }

    /// Adds IPv6 rows.
    pub(crate) fn add_v6(&mut self, rows: &Rows<KeyV6>) {
        let Self { columns, rules, times, tables, unplaced, scratch, .. } = self;
        scratch.v6.fill(rows, columns);
        *unplaced += with_table!(tables, 1, |table, split| {
            add(table, (columns, rules, *times, split), &scratch.v6, &mut scratch.found)
        });
    }

    /// Adds rows that were merged before, of an earlier time than what follows. Those whose keys have no memory go to `without_place`.
    pub(crate) fn add_merged(
        &mut self,
        earlier: &Self,
        without_place: &mut dyn FnMut(&RowBatch<KeyV4>, &RowBatch<KeyV6>),
    ) {
        self.unplaced += earlier.unplaced;
        earlier.each_v4(|batch| {
            if let Some(rows) = self.add_batch_v4(batch) {
                without_place(&rows, &RowBatch::default());
            }
        });
        earlier.each_v6(|batch| {
            if let Some(rows) = self.add_batch_v6(batch) {
                without_place(&RowBatch::default(), &rows);
            }
        });
    }

    /// Merges those of some IPv4 rows whose keys have rows already, and returns the others. Each key must
    /// occur once.
    pub(crate) fn add_known_v4(&mut self, rows: &Rows<KeyV4>) -> &RowBatch<KeyV4> {
        let Self { columns, rules, times, tables, scratch, .. } = self;
        scratch.v4.fill(rows, columns);
        with_table!(tables, 0, |table, split| {
            merge_known(table, (columns, rules, *times, split), &mut scratch.v4, &mut scratch.found);
        });
        &scratch.v4
    }

    /// Merges those of some IPv6 rows whose keys have rows already, and returns the others. Each key must
    /// occur once.
    pub(crate) fn add_known_v6(&mut self, rows: &Rows<KeyV6>) -> &RowBatch<KeyV6> {
        let Self { columns, rules, times, tables, scratch, .. } = self;
        scratch.v6.fill(rows, columns);
        with_table!(tables, 1, |table, split| {
            merge_known(table, (columns, rules, *times, split), &mut scratch.v6, &mut scratch.found);
        });
        &scratch.v6
    }

    /// Emits all merged rows of IPv4.
    pub(crate) fn each_v4(&self, mut give: impl FnMut(&RowBatch<KeyV4>)) {
        with_table!(&self.tables, 0, |table, _split| each(table, &self.columns, &mut give));
    }

    /// Emits all merged rows of IPv6.
    pub(crate) fn each_v6(&self, mut give: impl FnMut(&RowBatch<KeyV6>)) {
        with_table!(&self.tables, 1, |table, _split| each(table, &self.columns, &mut give));
    }

    /// Rows whose keys had no memory.
    pub(crate) fn unplaced(&self) -> u64 {
        self.unplaced
    }
}

/// Returns true if the time of a row decides which value is kept.
fn is_by_time(rule: Aggregation) -> bool {
    matches!(rule, Aggregation::First | Aggregation::Last | Aggregation::Mean)
}

/// The columns that rows must have which are merged in any order.
pub(crate) fn columns_of_any_order(columns: &[RowValue]) -> Vec<RowValue> {
    let mut all = columns.to_vec();
    if columns.iter().any(|column| is_by_time(Field::aggregation_of(*column))) {
        let times = [RowValue::First, RowValue::Last];
        all.extend(times.into_iter().filter(|time| !columns.contains(time)));
    }
    all
}

/// The columns of rows, how each is merged, where their times are, if these matter, and the columns by which rows of one key are apart.
type How<'a> = (&'a [RowValue], &'a [Aggregation], Option<TimeColumns>, &'a [RowValue]);

/// Adds the rows of a batch, and returns those for which there was no memory.
fn add_batch<K: MaskedKey, const N: usize>(
    table: &mut GroupTable<N>,
    how: How<'_>,
    batch: &RowBatch<K>,
    scratch: &mut MergeScratch,
    unplaced: &mut u64,
) -> Option<RowBatch<K>> {
    let MergeScratch { found, without_place, .. } = scratch;
    without_place.clear();
    each_chunk(batch, how.3, |rows, keys| {
        table.groups(keys, found);
        let has_none = found.iter().zip(rows.start as u32..).filter(|(group, _)| **group == NO_GROUP);
        without_place.extend(has_none.map(|(_, row)| row));
        merge(table, how, batch, rows, found);
    });
    *unplaced += without_place.len() as u64;
    (!without_place.is_empty()).then(|| {
        let mut rows = RowBatch::default();
        rows.fill_from(batch, without_place);
        rows
    })
}

/// Adds the rows of a batch, and returns the number of those for which there was no memory.
fn add<K: MaskedKey, const N: usize>(
    table: &mut GroupTable<N>,
    how: How<'_>,
    batch: &RowBatch<K>,
    found: &mut Vec<u32>,
) -> u64 {
    let mut unplaced = 0;
    each_chunk(batch, how.3, |rows, keys| {
        table.groups(keys, found);
        unplaced += found.iter().filter(|group| **group == NO_GROUP).count() as u64;
        merge(table, how, batch, rows, found);
    });
    unplaced
}

/// Merges those rows of a batch whose keys have rows already, and keeps the others in it.
fn merge_known<K: MaskedKey, const N: usize>(
    table: &mut GroupTable<N>,
    how: How<'_>,
    batch: &mut RowBatch<K>,
    found: &mut Vec<u32>,
) {
    if table.is_empty() {
        return;
    }
    let mut is_new = Vec::with_capacity(batch.len());
    each_chunk(batch, how.3, |rows, keys| {
        table.known_groups(keys, found);
        is_new.extend(found.iter().map(|group| *group == NO_GROUP));
        merge(table, how, batch, rows, found);
    });
    batch.retain(&is_new);
}

/// Calls `work` with the places of some rows of a batch, and the words of their keys, until all are
/// processed.
fn each_chunk<K: MaskedKey, const N: usize>(
    batch: &RowBatch<K>,
    split: &[RowValue],
    mut work: impl FnMut(Range<usize>, &[[u64; N]]),
) {
    let mut keys = [[0; N]; ROWS];
    for start in (0..batch.len()).step_by(ROWS) {
        let rows = start..batch.len().min(start + ROWS);
        for (key, words) in batch.keys[rows.clone()].iter().zip(&mut keys) {
            words[..K::WORDS].copy_from_slice(key.words());
        }
        for (at, column) in (K::WORDS..N).zip(split) {
            let values = &batch.column(*column)[rows.clone()];
            keys.iter_mut().zip(values).for_each(|(words, value)| words[at] = *value);
        }
        let keys = &keys[..rows.len()];
        work(rows, keys);
    }
}

/// Merges rows of a batch into their groups.
fn merge<K: MaskedKey, const N: usize>(
    table: &mut GroupTable<N>,
    (columns, rules, times, _): How<'_>,
    batch: &RowBatch<K>,
    rows: Range<usize>,
    found: &[u32],
) {
    if let Some(times) = times {
        return merge_by_time(table, (columns, rules), times, batch, rows, found);
    }
    for (at, (column, rule)) in columns.iter().zip(rules).enumerate() {
        let values = &batch.column(*column)[rows.clone()];
        // Less than all bytes on the wire is no total.
        let needs_all = *column == RowValue::WireBytes && values.contains(&NULL);
        let mut each = |merge: fn(u64, u64) -> u64| {
            let takes_null = *rule == Aggregation::First || needs_all;
            for (value, group) in values.iter().zip(found.iter()) {
                if *group != NO_GROUP && (takes_null || *value != NULL) {
                    let merged = &mut table.state_mut(*group)[at];
                    *merged = merge(*merged, *value);
                }
            }
        };
        // The rule is evaluated once for all rows.
        match rule {
            Aggregation::Sum if *column == RowValue::WireBytes => each(total),
            Aggregation::Sum => each(|merged, value| merged + value),
            Aggregation::Min => each(u64::min),
            Aggregation::Max => each(|merged, value| if merged == NULL { value } else { merged.max(value) }),
            Aggregation::Or => each(|merged, value| if merged == NULL { value } else { merged | value }),
            Aggregation::First => each(|merged, value| if merged == UNSET { value } else { merged }),
            Aggregation::Same => {
                let packets = batch.column(RowValue::Packets).get(rows.clone()).unwrap_or_default();
                for (row, (value, group)) in values.iter().zip(found).enumerate() {
                    if *group != NO_GROUP && packets.get(row) != Some(&0) {
                        let merged = &mut table.state_mut(*group)[at];
                        *merged = same(*merged, *value);
                    }
                }
            }
            Aggregation::Key | Aggregation::Constant => {
                each(|merged, value| if merged == NULL { value } else { merged });
            }
            Aggregation::Last | Aggregation::Mean => each(|_, value| value),
        }
    }
}

/// The value that both have; null where they differ.
fn same(merged: u64, value: u64) -> u64 {
    match merged {
        UNSET => value,
        merged if merged == value => merged,
        _ => NULL,
    }
}

/// Merges rows of any order, one after the other: what is first and last is decided by their times.
fn merge_by_time<K: MaskedKey, const N: usize>(
    table: &mut GroupTable<N>,
    (columns, rules): (&[RowValue], &[Aggregation]),
    times: TimeColumns,
    batch: &RowBatch<K>,
    rows: Range<usize>,
    found: &[u32],
) {
    let values: Vec<&[u64]> = columns.iter().map(|column| &batch.column(*column)[rows.clone()]).collect();
    let packets = batch.column(RowValue::Packets).get(rows.clone()).unwrap_or_default();
    for (row, group) in found.iter().enumerate().filter(|(_, group)| **group != NO_GROUP) {
        let state = table.state_mut(*group);
        let is_first = values[times.first][row] < state[times.first];
        // Of rows of the same time the one that comes last.
        let is_last = state[times.last] == NULL || values[times.last][row] >= state[times.last];
        for (((merged, values), rule), column) in state.iter_mut().zip(&values).zip(rules).zip(columns) {
            let value = values[row];
            if *column == RowValue::WireBytes {
                *merged = total(*merged, value);
                continue;
            }
            if *rule == Aggregation::Same {
                if packets.get(row) != Some(&0) {
                    *merged = same(*merged, value);
                }
                continue;
            }
            if *rule == Aggregation::First {
                // The first packet's, which may be null.
                if is_first || *merged == UNSET {
                    *merged = value;
                }
                continue;
            }
            if value == NULL {
                continue;
            }
            *merged = match rule {
                Aggregation::Sum => *merged + value,
                Aggregation::Min => (*merged).min(value),
                _ if *merged == NULL => value,
                Aggregation::Max => (*merged).max(value),
                Aggregation::Or => *merged | value,
                Aggregation::Last | Aggregation::Mean if is_last => value,
                Aggregation::Key | Aggregation::Constant if is_first => value,
                _ => *merged,
            };
        }
    }
}

fn each<K: MaskedKey, const N: usize>(
    table: &GroupTable<N>,
    columns: &[RowValue],
    give: &mut impl FnMut(&RowBatch<K>),
) {
    let mut batch = RowBatch::default();
    for start in (0..table.len()).step_by(ROWS) {
        let rows = start..table.len().min(start + ROWS);
        let keys = table.keys()[rows.clone()].iter().map(|words| K::from_words(&words[..K::WORDS]));
        batch.refill(keys, columns, table.states(rows));
        for column in columns.iter().filter(|column| Field::aggregation_of(**column) == Aggregation::Same) {
            // No row had packets.
            let values = batch.column_mut(*column).iter_mut().filter(|value| **value == UNSET);
            values.for_each(|value| *value = NULL);
        }
        give(&batch);
    }
}
