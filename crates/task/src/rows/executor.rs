//! Runs queries over the rows of windows, each separately, and over the whole run.

use super::answer::Unplaced;
use super::batch::Batch;
use super::merged::MergedRows;
use super::partitioned::{HeldRows, can_be_partitioned};
use super::plan::Plan;
use super::query::{Over, RowQuery};
use super::refusal::Refusal;
use super::site::Site;
use super::state::QueryState;
use crate::{Generation, OtherGeneration};
use flow::{RowValue, Rows};
use packet::{KeyV4, KeyV6, MaskedKey};
use report::{Answer, Span};

/// Queries over window rows, ready for the rows of a site: one set of them, of one generation.
#[derive(Clone, Debug)]
pub struct RowQueries {
    generation: Generation,
    site: Site,
    window: Vec<Plan>,
    run: Vec<Plan>,
    /// Columns that queries of windows read.
    window_columns: Vec<RowValue>,
}

impl RowQueries {
    /// Plans queries.
    ///
    /// # Errors
    /// All refusals, each with the name of its query.
    pub fn plan(
        generation: Generation,
        queries: &[RowQuery],
        site: &Site,
    ) -> Result<Self, Vec<(String, Refusal)>> {
        let (mut window, mut run, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
        for query in queries {
            match Plan::new(query, site) {
                Ok(plan) if query.over == Over::Run => run.push(plan),
                Ok(plan) => window.push(plan),
                Err(all) => refusals.extend(all.into_iter().map(|refusal| (query.name.clone(), refusal))),
            }
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let window_columns = columns(&window);
        Ok(Self { generation, site: site.clone(), window, run, window_columns })
    }

    /// The number of this set.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// True if any query is about single windows.
    pub fn asks_of_windows(&self) -> bool {
        !self.window.is_empty()
    }

    /// True if any query is about the whole run.
    pub fn asks_of_run(&self) -> bool {
        !self.run.is_empty()
    }

    /// The empty state of a window.
    pub fn window(&self) -> RowPartials {
        self.partials(&self.window)
    }

    fn partials(&self, plans: &[Plan]) -> RowPartials {
        let states = plans.iter().map(|plan| QueryState::new(plan, &self.site)).collect();
        RowPartials { generation: self.generation, states }
    }

    /// The run's empty state; `None` if no query requires it.
    pub fn run(&self) -> Option<RunPartials> {
        let is_partitioned = self.run.iter().any(can_be_partitioned);
        self.asks_of_run().then(|| RunPartials {
            merged: MergedRows::new(columns(&self.run), &self.site),
            whole: WholeRows {
                partials: self.partials(&self.run),
                held: is_partitioned.then(|| HeldRows::new(columns(&self.run), &self.site)),
            },
        })
    }

    /// The answers over the whole run. `outside`: packets that are in no row.
    pub fn run_answers(&self, rows: RunPartials, outside: &Unplaced) -> Vec<Answer> {
        let RunPartials { merged, mut whole } = rows;
        merged.each_v4(|batch| whole.add(&self.run, batch, HeldRows::push_v4));
        merged.each_v6(|batch| whole.add(&self.run, batch, HeldRows::push_v6));
        let unplaced = merged.unplaced();
        drop(merged);
        let mut partials = whole.partials(&self.run, &self.site);
        let mut answers = partials.answers(&self.run, &self.site, None, outside);
        if unplaced != 0 {
            let reason = format!("memory ran out: {unplaced} rows are in no flow");
            answers.iter_mut().for_each(|answer| answer.lacks(&reason));
        }
        answers
    }
}

fn columns(plans: &[Plan]) -> Vec<RowValue> {
    let mut columns: Vec<_> = plans.iter().flat_map(|plan| plan.columns.iter().copied()).collect();
    columns.sort_unstable_by_key(|column| *column as u8);
    columns.dedup();
    columns
}

/// The state of all queries of a set for one window: partial answers, which merge with those of other cores
/// and nodes.
#[derive(Debug)]
pub struct RowPartials {
    generation: Generation,
    states: Vec<QueryState>,
}

/// Memory that windows have in common, for rows in columns.
#[derive(Debug, Default)]
pub struct RowScratch {
    v4: Batch<KeyV4>,
    v6: Batch<KeyV6>,
}

impl RowPartials {
    /// The set of queries that it belongs to.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Takes IPv4 rows of the window.
    pub fn add_v4(&mut self, queries: &RowQueries, rows: &Rows<KeyV4>, scratch: &mut RowScratch) {
        scratch.v4.fill(rows, &queries.window_columns);
        self.add_batch(&queries.window, &scratch.v4);
    }

    /// Takes IPv6 rows of the window.
    pub fn add_v6(&mut self, queries: &RowQueries, rows: &Rows<KeyV6>, scratch: &mut RowScratch) {
        scratch.v6.fill(rows, &queries.window_columns);
        self.add_batch(&queries.window, &scratch.v6);
    }

    fn add_batch<K: MaskedKey>(&mut self, plans: &[Plan], batch: &Batch<K>) {
        self.states.iter_mut().zip(plans).for_each(|(state, plan)| state.add(plan, batch));
    }

    /// Merges the state of another core or node for the same window.
    ///
    /// # Errors
    /// If the other is of another generation; nothing is changed then.
    pub fn merge(&mut self, queries: &RowQueries, other: &Self) -> Result<(), OtherGeneration> {
        queries.generation.takes(self.generation)?;
        self.generation.takes(other.generation)?;
        for ((state, other), plan) in self.states.iter_mut().zip(&other.states).zip(&queries.window) {
            state.merge(plan, other);
        }
        Ok(())
    }

    /// The answers of the window. `outside`: packets that are in no row.
    pub fn window_answers(mut self, queries: &RowQueries, span: Span, outside: &Unplaced) -> Vec<Answer> {
        self.answers(&queries.window, &queries.site, Some(span), outside)
    }

    fn answers(
        &mut self,
        plans: &[Plan],
        site: &Site,
        window: Option<Span>,
        outside: &Unplaced,
    ) -> Vec<Answer> {
        let answer = |(state, plan): (&mut QueryState, _)| state.answer(plan, site, window, outside);
        self.states.iter_mut().zip(plans).map(answer).collect()
    }
}

/// The state of all queries over the run: rows of one key are merged before a query reads them.
#[derive(Debug)]
pub struct RunPartials {
    merged: MergedRows,
    whole: WholeRows,
}

/// Rows that are not merged with others: those of whole flows.
#[derive(Debug)]
struct WholeRows {
    partials: RowPartials,
    /// For the queries that are answered by partitions at the end; `None` if there are none, or was no memory for rows.
    held: Option<HeldRows>,
}

impl RunPartials {
    /// Adds IPv4 rows, of windows or of ended records; those of one key must be added in order.
    pub fn add_v4(&mut self, rows: &Rows<KeyV4>) {
        self.merged.add_v4(rows);
    }

    /// Adds IPv6 rows.
    pub fn add_v6(&mut self, rows: &Rows<KeyV6>) {
        self.merged.add_v6(rows);
    }

    /// Adds IPv4 rows that are the last ones of their keys, each passed once: those whose keys had no earlier
    /// rows, which are most, are passed to the queries at once.
    pub fn add_last_v4(&mut self, queries: &RowQueries, rows: &Rows<KeyV4>) {
        let Self { merged, whole } = self;
        whole.add(&queries.run, merged.add_known_v4(rows), HeldRows::push_v4);
    }

    /// Adds such rows of IPv6.
    pub fn add_last_v6(&mut self, queries: &RowQueries, rows: &Rows<KeyV6>) {
        let Self { merged, whole } = self;
        whole.add(&queries.run, merged.add_known_v6(rows), HeldRows::push_v6);
    }
}

impl WholeRows {
    /// Adds rows that are not merged with others. Without memory to hold them, all queries read them from here on.
    fn add<K: MaskedKey>(
        &mut self,
        plans: &[Plan],
        batch: &Batch<K>,
        hold: fn(&mut HeldRows, &Batch<K>) -> bool,
    ) {
        if self.held.as_mut().is_some_and(|held| !hold(held, batch))
            && let Some(held) = self.held.take()
        {
            for (state, plan) in self.partials.states.iter_mut().zip(plans) {
                if can_be_partitioned(plan) {
                    held.each_v4(|batch| state.add(plan, batch));
                    held.each_v6(|batch| state.add(plan, batch));
                }
            }
        }
        for (state, plan) in self.partials.states.iter_mut().zip(plans) {
            if self.held.is_none() || !can_be_partitioned(plan) {
                state.add(plan, batch);
            }
        }
    }

    /// The states of all queries, after all rows.
    fn partials(mut self, plans: &[Plan], site: &Site) -> RowPartials {
        for (state, plan) in self.partials.states.iter_mut().zip(plans) {
            let Some(held) = self.held.as_ref().filter(|_| can_be_partitioned(plan)) else { continue };
            match held.state_of(plan, site) {
                Some(ranked) => *state = ranked,
                None => {
                    held.each_v4(|batch| state.add(plan, batch));
                    held.each_v6(|batch| state.add(plan, batch));
                }
            }
        }
        self.partials
    }
}
