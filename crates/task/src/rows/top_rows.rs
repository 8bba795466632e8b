//! The first groups by some order, where groups come one after the other and each comes once: no table is needed.

use super::aggregates::PlannedAggregate;
use super::evaluate::Evaluation;
use super::group_view::{GroupContext, GroupView};
use super::keyed::{OF_V6, base};
use super::order::{CounterOrder, Keyed};
use super::owners::OneState;
use super::plan::QueryPlan;
use super::update::{QueryInputs, update};
use packet::{KeyV6, MaskedKey};
use std::cmp::Ordering;

/// The groups that are first so far, and the totals of all.
#[derive(Debug)]
pub(crate) struct TopRows {
    /// The groups that are kept, up to twice the requested number; beyond, the last half is discarded.
    kept: Vec<TopRow>,
    limit: usize,
    /// The rank that a group must not exceed to be among the first, where the first order is that of a counter.
    worst: Option<u64>,
    counter: Option<CounterOrder>,
    /// The totals of all groups.
    pub(crate) totals: Vec<u64>,
    pub(crate) rows: u64,
    /// True if it is not known of some group how many distinct values it has.
    pub(crate) is_unsure: bool,
}

/// A group with its state.
#[derive(Clone, Debug)]
pub(crate) struct TopRow {
    pub(crate) key: [u64; KeyV6::WORDS],
    pub(crate) is_v6: bool,
    pub(crate) state: Vec<u64>,
}

/// Rows beyond the limit that are kept before some are discarded.
const SLACK: usize = 256;

impl TopRows {
    pub(crate) fn new(plan: &QueryPlan) -> Self {
        Self {
            kept: Vec::new(),
            limit: plan.limit,
            worst: None,
            counter: plan.counter_order(),
            totals: plan.initial.clone(),
            rows: 0,
            is_unsure: false,
        }
    }

    /// Adds selected rows of a batch, each a group of its own.
    pub(crate) fn add<K: MaskedKey>(
        &mut self,
        plan: &QueryPlan,
        evaluated: (&Evaluation<'_, K>, &QueryInputs),
        selected: &[u32],
    ) {
        self.rows += selected.len() as u64;
        update(plan, evaluated, selected, &mut OneState(&mut self.totals), None);
        if self.limit == 0 {
            return;
        }
        let (evaluation, inputs) = evaluated;
        for row in selected {
            // Most rows rank after the first ones; one column nearly always suffices to determine it.
            if let (Some(counter), Some(worst)) = (&self.counter, self.worst)
                && counter.rank_of_row(inputs, *row as usize) > worst
            {
                continue;
            }
            let mut state = plan.initial.clone();
            update(plan, evaluated, std::slice::from_ref(row), &mut OneState(&mut state), None);
            let mut key = [0; KeyV6::WORDS];
            base(&evaluation.batch().keys[*row as usize], &mut key);
            self.keep(plan, TopRow { key, is_v6: K::WORDS == KeyV6::WORDS, state });
        }
    }

    /// Adds a group of several rows.
    pub(crate) fn add_group(&mut self, plan: &QueryPlan, words: &[u64], is_v6: bool, state: &[u64]) {
        self.rows += 1;
        plan.merge_states(&mut self.totals, state);
        let is_unsure = |PlannedAggregate { kind, at, .. }: &PlannedAggregate| {
            kind.state().doubtful().is_some_and(|word| state[at + word] != 0)
        };
        self.is_unsure |= plan.aggregates.iter().any(is_unsure);
        let is_behind = |counter: &CounterOrder| self.worst.is_some_and(|worst| counter.rank(state) > worst);
        if self.limit == 0 || self.counter.as_ref().is_some_and(is_behind) {
            return;
        }
        let mut key = [0; KeyV6::WORDS];
        key[..words.len()].copy_from_slice(words);
        self.keep(plan, TopRow { key, is_v6, state: state.to_vec() });
    }

    fn keep(&mut self, plan: &QueryPlan, row: TopRow) {
        self.kept.push(row);
        if self.kept.len() >= self.limit.saturating_mul(2).saturating_add(SLACK) {
            self.shrink(plan);
            let ranks = |counter: &CounterOrder| self.kept.iter().map(|row| counter.rank(&row.state)).max();
            self.worst = self.counter.as_ref().and_then(ranks);
        }
    }

    /// Discards all but the first rows.
    fn shrink(&mut self, plan: &QueryPlan) {
        if self.kept.len() > self.limit {
            let by_rank = |one: &TopRow, other: &TopRow| one.compare(other, plan);
            self.kept.select_nth_unstable_by(self.limit, by_rank);
            self.kept.truncate(self.limit);
        }
    }

    pub(crate) fn merge(&mut self, plan: &QueryPlan, other: &Self) {
        self.rows += other.rows;
        plan.merge_states(&mut self.totals, &other.totals);
        other.kept.iter().for_each(|row| self.keep(plan, row.clone()));
    }

    /// The first rows in their order.
    pub(crate) fn first(&mut self, plan: &QueryPlan) -> &[TopRow] {
        self.shrink(plan);
        self.kept.sort_by(|one, other| one.compare(other, plan));
        &self.kept
    }
}

impl TopRow {
    /// The group's number as far as it tells the family.
    pub(crate) fn number(&self) -> u64 {
        if self.is_v6 { OF_V6 } else { 0 }
    }

    fn keyed(&self) -> Keyed<'_> {
        Keyed { is_v6: self.is_v6, words: &self.key }
    }

    fn compare(&self, other: &Self, plan: &QueryPlan) -> Ordering {
        let [one, two] = [self, other].map(|row| {
            plan.ranked(&GroupView {
                setting: GroupContext::for_order(plan),
                number: row.number(),
                words: &row.key,
                state: &row.state,
            })
        });
        plan.compare((&one, self.keyed()), (&two, other.keyed()))
    }
}
