//! The first rows by some order, where each row is a group of its own: no table is needed.

use super::batch::Batch;
use super::keyed::base;
use super::order::Ranked;
use super::plan::{ItemKind, Plan};
use super::query::MOST_GROUPS;
use flow::NULL;
use packet::{KeyV6, MaskedKey};

/// The rows that are first so far, and the totals of all.
#[derive(Debug)]
pub(crate) struct TopRows {
    /// Up to twice as many as are asked for; beyond, the last half goes.
    kept: Vec<TopRow>,
    limit: usize,
    /// What a row must reach to be among the first, by the first item of the order.
    least: Option<u64>,
    /// The totals of all rows.
    pub(crate) totals: Vec<u64>,
    pub(crate) rows: u64,
}

/// A row with the state of the group that it is.
#[derive(Clone, Debug)]
pub(crate) struct TopRow {
    pub(crate) key: [u64; KeyV6::WORDS],
    pub(crate) is_v6: bool,
    pub(crate) state: Vec<u64>,
}

/// Rows beyond the limit that are kept before some go.
const SLACK: usize = 256;

impl TopRows {
    pub(crate) fn new(plan: &Plan) -> Self {
        let limit = plan.query.limit.unwrap_or(MOST_GROUPS);
        Self { kept: Vec::new(), limit, least: None, totals: plan.initial.clone(), rows: 0 }
    }

    pub(crate) fn add<K: MaskedKey>(&mut self, plan: &Plan, batch: &Batch<K>, selected: &[u32]) {
        let order = plan.first_order();
        self.rows += selected.len() as u64;
        for &row in selected {
            let row = row as usize;
            let value = |kind: ItemKind| match kind {
                ItemKind::Sum(column) => match batch.column(column)[row] {
                    NULL => [0, 0],
                    value => [value, 0],
                },
                ItemKind::SumOf(parts) => {
                    let values = parts.iter().flatten().map(|column| batch.column(*column)[row]);
                    [values.filter(|value| *value != NULL).sum(), 0]
                }
                ItemKind::Min(column) => [batch.column(column)[row], 0],
                // One row has one value at the most.
                ItemKind::Count | ItemKind::Distinct(..) => [1, 0],
                ItemKind::MeanRoundTrip => {
                    use flow::RowValue::{RttCount, RttSum};
                    match (batch.column(RttSum)[row], batch.column(RttCount)[row]) {
                        (_, NULL) => [0, 0],
                        (sum, count) => [sum, count],
                    }
                }
            };
            for item in &plan.items {
                let [one, two] = value(item.kind);
                match item.kind {
                    ItemKind::Min(_) => self.totals[item.at] = self.totals[item.at].min(one),
                    ItemKind::MeanRoundTrip => {
                        self.totals[item.at] += one;
                        self.totals[item.at + 1] += two;
                    }
                    _ => self.totals[item.at] += one,
                }
            }
            let (first, descending) = (value(plan.items[order.item].kind)[0], order.descending);
            let is_behind = |least: u64| if descending { first < least } else { first > least };
            if self.limit == 0 || self.least.is_some_and(is_behind) {
                continue;
            }
            let mut state = plan.initial.clone();
            for item in &plan.items {
                let words = &mut state[item.at..];
                let [one, two] = value(item.kind);
                words[0] = one;
                if matches!(item.kind, ItemKind::MeanRoundTrip) {
                    words[1] = two;
                }
            }
            let mut key = [0; KeyV6::WORDS];
            base(&batch.keys[row], &mut key);
            self.keep(plan, TopRow { key, is_v6: K::WORDS == KeyV6::WORDS, state });
        }
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

    /// Leaves the first rows alone.
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
