//! Plans that read the same rows, and what they compute of these together.

use super::answer::Covered;
use super::evaluate::Evaluation;
use super::plan::QueryPlan;
use super::program::RowProgram;
use super::state::QueryWindowState;
use crate::plan_context::PlanContext;
use crate::query::Query;
use crate::row_refusal::Refusal;
use flow::{RowBatch, RowValue};
use model::Answer;
use packet::MaskedKey;

/// Plans of queries, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanSet {
    pub(crate) program: RowProgram,
    pub(crate) plans: Vec<QueryPlan>,
    /// Columns of rows that they read.
    pub(crate) columns: Vec<RowValue>,
}

impl PlanSet {
    /// Plans queries. Refusals are added to the others, each with the name of its query.
    pub(crate) fn new<'a>(
        queries: impl Iterator<Item = &'a Query>,
        site: &PlanContext,
        refusals: &mut Vec<(String, Refusal)>,
    ) -> Self {
        let mut set = Self::default();
        for query in queries {
            match QueryPlan::new(query, site, &mut set.program) {
                Ok(plan) => set.plans.push(plan),
                Err(all) => refusals.extend(all.into_iter().map(|refusal| (query.name.clone(), refusal))),
            }
        }
        set.columns = set.program.columns().collect();
        set.columns.sort_unstable();
        set.columns.dedup();
        set
    }

    /// Returns empty states of all plans.
    pub(crate) fn states(&self, site: &PlanContext) -> Vec<QueryWindowState> {
        self.plans.iter().map(|plan| QueryWindowState::new(plan, site)).collect()
    }

    /// Adds a batch to the states of those plans whose numbers `takes` is true for.
    pub(crate) fn add<K: MaskedKey>(
        &self,
        states: &mut [QueryWindowState],
        batch: &RowBatch<K>,
        takes: impl Fn(usize) -> bool,
    ) {
        self.add_pass(0, states, batch, takes);
    }

    /// Adds the rows of a [pass](PlanContext::passes).
    pub(crate) fn add_pass<K: MaskedKey>(
        &self,
        pass: usize,
        states: &mut [QueryWindowState],
        batch: &RowBatch<K>,
        takes: impl Fn(usize) -> bool,
    ) {
        if batch.is_empty() {
            return;
        }
        let mut evaluation = Evaluation::new(&self.program, batch).with_pass(pass);
        let states = states.iter_mut().zip(&self.plans).enumerate();
        for (_, (state, plan)) in states.filter(|(at, _)| takes(*at)) {
            state.add(plan, &mut evaluation);
        }
    }

    /// The answers of all plans.
    pub(crate) fn answers(&self, states: &mut [QueryWindowState], covered: Covered<'_>) -> Vec<Answer> {
        let answer = |(state, plan): (&mut QueryWindowState, _)| state.answer(plan, &self.program, covered);
        states.iter_mut().zip(&self.plans).map(answer).collect()
    }

    /// An answer of each plan without rows.
    pub(crate) fn empty_answers(&self) -> impl Iterator<Item = Answer> + '_ {
        self.plans.iter().map(|plan| {
            let columns = plan.items.iter().map(|item| item.column.clone()).collect();
            let bound = plan.query.bound.clone();
            let answer = Answer::new(plan.query.name.clone(), None, columns, Vec::new());
            Answer { bound, class: plan.class, ..answer }
        })
    }
}
