//! The first rows by some order, where each row is a separate group: no table is needed.

use super::batch::Batch;
use super::keyed::base;
use super::order::Ranked;
use super::plan::{ItemKind, Plan, PlannedItem};
use super::query::MOST_GROUPS;
use flow::{NULL, RowValue};
use packet::{KeyV6, MaskedKey};

/// The rows that are first so far, and the totals of all.
#[derive(Debug)]
pub(crate) struct TopRows {
    /// Up to twice the requested number; beyond, the last half is discarded.
    kept: Vec<TopRow>,
    limit: usize,
    /// What a row must reach to be among the first, by the first item of the order.
    least: Option<u64>,
    /// The totals of all rows.
    pub(crate) totals: Vec<u64>,
    pub(crate) rows: u64,
    /// Of some group it is not known how many distinct values it has.
    pub(crate) is_unsure: bool,
}

/// A row with the state of its group.
#[derive(Clone, Debug)]
pub(crate) struct TopRow {
    pub(crate) key: [u64; KeyV6::WORDS],
    pub(crate) is_v6: bool,
    pub(crate) state: Vec<u64>,
}

/// Rows beyond the limit that are kept before some are discarded.
const SLACK: usize = 256;

impl TopRows {
    pub(crate) fn new(plan: &Plan) -> Self {
        let limit = plan.query.limit.unwrap_or(MOST_GROUPS);
        Self { kept: Vec::new(), limit, least: None, totals: plan.initial.clone(), rows: 0, is_unsure: false }
    }

    /// Adds selected rows of a batch. `is_whole`: all rows are selected.
    pub(crate) fn add<K: MaskedKey>(
        &mut self,
        plan: &Plan,
        batch: &Batch<K>,
        selected: &[u32],
        is_whole: bool,
    ) {
        self.rows += selected.len() as u64;
        for item in &plan.items {
            let total = |values: &[u64]| -> u64 {
                let count = |value: u64| if value == NULL { 0 } else { value };
                match is_whole {
                    true => values.iter().map(|value| count(*value)).sum(),
                    false => selected.iter().map(|row| count(values[*row as usize])).sum(),
                }
            };
            let at = item.at;
            match item.kind {
                ItemKind::Sum(column) => self.totals[at] += total(batch.column(column)),
                ItemKind::SumOf(parts) => {
                    self.totals[at] +=
                        parts.iter().flatten().map(|column| total(batch.column(*column))).sum::<u64>();
                }
                ItemKind::Min(column) => {
                    let values = batch.column(column);
                    let least = selected.iter().map(|row| values[*row as usize]).min();
                    self.totals[at] = self.totals[at].min(least.unwrap_or(NULL));
                }
                // One row has one value at most.
                ItemKind::Count | ItemKind::Distinct(..) => self.totals[at] += selected.len() as u64,
                ItemKind::MeanRoundTrip => {
                    self.totals[at] += total(batch.column(RowValue::RttSum));
                    self.totals[at + 1] += total(batch.column(RowValue::RttCount));
                }
            }
        }
        if self.limit == 0 {
            return;
        }
        let order = plan.first_order();
        // Most rows rank after the first ones; one column nearly always suffices to determine it.
        match plan.items[order.item].kind {
            ItemKind::Sum(column) if order.descending => {
                let values = batch.column(column);
                for &row in selected {
                    if values[row as usize] >= self.least.unwrap_or(0) {
                        self.take(plan, batch, row as usize);
                    }
                }
            }
            _ => selected.iter().for_each(|row| self.take(plan, batch, *row as usize)),
        }
    }

    /// Keeps a row if it may be among the first.
    fn take<K: MaskedKey>(&mut self, plan: &Plan, batch: &Batch<K>, row: usize) {
        let mut state = plan.initial.clone();
        let value = |column: RowValue| match batch.column(column)[row] {
            NULL => 0,
            value => value,
        };
        for item in &plan.items {
            let words = &mut state[item.at..];
            match item.kind {
                ItemKind::Sum(column) => words[0] = value(column),
                ItemKind::SumOf(parts) => {
                    words[0] = parts.iter().flatten().map(|column| value(*column)).sum()
                }
                ItemKind::Min(column) => words[0] = batch.column(column)[row],
                ItemKind::Count | ItemKind::Distinct(..) => words[0] = 1,
                ItemKind::MeanRoundTrip => {
                    (words[0], words[1]) = (value(RowValue::RttSum), value(RowValue::RttCount));
                }
            }
        }
        let order = plan.first_order();
        let first = state[plan.items[order.item].at];
        let is_behind = |least: u64| if order.descending { first < least } else { first > least };
        if self.least.is_some_and(is_behind) {
            return;
        }
        let mut key = [0; KeyV6::WORDS];
        base(&batch.keys[row], &mut key);
        self.keep(plan, TopRow { key, is_v6: K::WORDS == KeyV6::WORDS, state });
    }

    /// Adds a group of several rows.
    pub(crate) fn add_group(&mut self, plan: &Plan, words: &[u64], is_v6: bool, state: &[u64]) {
        self.rows += 1;
        plan.merge_states(&mut self.totals, state);
        let is_unsure =
            |item: &PlannedItem| matches!(item.kind, ItemKind::Distinct(..)) && state[item.at + 1] != 0;
        self.is_unsure |= plan.items.iter().any(is_unsure);
        let order = plan.first_order();
        let first = plan.value(order.item, state);
        let is_behind = |least: u64| if order.descending { first < least } else { first > least };
        if self.limit == 0 || self.least.is_some_and(is_behind) {
            return;
        }
        let mut key = [0; KeyV6::WORDS];
        key[..words.len()].copy_from_slice(words);
        self.keep(plan, TopRow { key, is_v6, state: state.to_vec() });
    }

    fn keep(&mut self, plan: &Plan, row: TopRow) {
        self.kept.push(row);
        if self.kept.len() >= 2 * self.limit + SLACK {
            self.shrink(plan);
            let order = plan.first_order();
            if matches!(plan.items[order.item].kind, ItemKind::MeanRoundTrip) {
                return;
            }
            let last = self.kept.iter().map(|row| row.state[plan.items[order.item].at]);
            self.least = if order.descending { last.min() } else { last.max() };
        }
    }

    /// Discards all but the first rows.
    fn shrink(&mut self, plan: &Plan) {
        if self.kept.len() > self.limit {
            let by_rank = |a: &TopRow, b: &TopRow| plan.compare(&a.ranked(), &b.ranked());
            self.kept.select_nth_unstable_by(self.limit, by_rank);
            self.kept.truncate(self.limit);
        }
    }

    pub(crate) fn merge(&mut self, plan: &Plan, other: &Self) {
        self.rows += other.rows;
        plan.merge_states(&mut self.totals, &other.totals);
        for item in &plan.items {
            if matches!(item.kind, ItemKind::Distinct(..)) {
                self.totals[item.at] += other.totals[item.at];
            }
        }
        other.kept.iter().for_each(|row| self.keep(plan, row.clone()));
    }

    /// The first rows in their order.
    pub(crate) fn first(&mut self, plan: &Plan) -> &[TopRow] {
        self.shrink(plan);
        self.kept.sort_by(|a, b| plan.compare(&a.ranked(), &b.ranked()));
        &self.kept
    }
}

impl TopRow {
    fn ranked(&self) -> Ranked<'_> {
        Ranked { state: &self.state, is_v6: self.is_v6, words: &self.key }
    }
}
