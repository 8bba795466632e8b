//! Counts of a run for questions by packets, and the rows of a window that come of them.

use super::table::{SplitPart, SplitTable};
use crate::changing_fields::ChangingFields;
use crate::rows::Unplaced;
use arena::{Lease, Limits};
use flow::{Rows, WindowRow};
use packet::{KeyV4, KeyV6, Seed};
use std::sync::Arc;

/// The most that all tables take, bytes: rows of more than a million flows in a window.
const MOST_BYTES: usize = 256 << 20;
/// The part of a run's memory that they take.
const SHARE: usize = 16;

/// The plan of what is counted: a table for each set of fields.
#[derive(Clone, Debug)]
pub(crate) struct SplitPlan {
    pub(crate) tables: Vec<ChangingFields>,
    seed: Seed,
    limits: Limits,
}

impl SplitPlan {
    pub(crate) fn new(tables: Vec<ChangingFields>, seed: Seed, limits: &Limits) -> Self {
        Self { tables, seed, limits: limits.clone() }
    }

    /// Returns the bytes that the tables of all workers take.
    pub(crate) fn bytes(&self) -> usize {
        (self.limits.bytes_allowed() / SHARE).min(MOST_BYTES)
    }

    /// Returns the empty tables of one worker, where `workers` workers have two sets of tables each.
    pub(crate) fn tables(&self, workers: usize) -> Vec<SplitTable> {
        let each = self.bytes() / (2 * workers.max(1) * self.tables.len().max(1));
        let table = |fields: &ChangingFields| SplitTable::with_bytes(*fields, each, self.seed, &self.limits);
        self.tables.iter().map(table).collect()
    }

    /// The rows of a window, taken out of tables that go on.
    pub(crate) fn window(&self, tables: &[SplitTable], fault: Option<String>) -> SplitWindow {
        let mut lease = self.limits.empty_lease();
        let tables = tables.iter().map(|table| {
            let mut rows = SplitRows { unplaced: table.unplaced(), ..SplitRows::default() };
            rows.v4.rows = taken(&table.v4, &mut lease, &mut rows.unplaced);
            rows.v6.rows = taken(&table.v6, &mut lease, &mut rows.unplaced);
            rows
        });
        SplitWindow { tables: tables.collect(), fault, _memory: Some(Arc::new(lease)) }
    }
}

/// The rows of a table; where there is no memory for them, their packets have no place.
fn taken<K: packet::Key>(
    part: &SplitPart<K>,
    lease: &mut Lease,
    unplaced: &mut Unplaced,
) -> Vec<WindowRow<K>> {
    if lease.grow(size_of_val(&part.rows[..])) {
        return part.rows.clone();
    }
    for WindowRow { packets, bytes, wire_bytes, .. } in &part.rows {
        unplaced.add(&Unplaced { packets: *packets, bytes: *bytes, wire_bytes: *wire_bytes, keyless: 0 });
    }
    Vec::new()
}

/// The rows of one table.
#[derive(Clone, Debug, Default)]
pub struct SplitRows {
    pub(crate) v4: Rows<KeyV4>,
    pub(crate) v6: Rows<KeyV6>,
    /// Packets in no row.
    pub(crate) unplaced: Unplaced,
}

/// The rows by packets of a window.
#[derive(Clone, Debug, Default)]
pub struct SplitWindow {
    pub(crate) tables: Vec<SplitRows>,
    /// The reason why the rows are not whole, if they are not.
    pub fault: Option<String>,
    _memory: Option<Arc<Lease>>,
}

impl SplitWindow {
    /// A window of which no worker counted anything, and why, if there is a reason.
    pub(crate) fn empty(fault: Option<String>) -> Self {
        Self { fault, ..Self::default() }
    }
}

impl PartialEq for SplitRows {
    fn eq(&self, other: &Self) -> bool {
        (&self.v4.rows, &self.v6.rows, self.unplaced) == (&other.v4.rows, &other.v6.rows, other.unplaced)
    }
}

impl PartialEq for SplitWindow {
    fn eq(&self, other: &Self) -> bool {
        (&self.tables, &self.fault) == (&other.tables, &other.fault)
    }
}
