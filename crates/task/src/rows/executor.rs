//! Runs queries over the rows of windows, each separately, and over the whole run.

use super::answer::Covered;
use super::long_windows::{LongPlans, LongWindows};
use super::merged::MergedRows;
use super::outside::Outside;
use super::overflow::{OverflowCounter, OverflowPlan};
use super::partitioned::{HeldRows, can_be_partitioned};
use super::plan_set::PlanSet;
use super::refusal::Refusal;
use super::site::Site;
use super::state::QueryState;
use crate::query::{Over, Query};
use crate::{Generation, OtherGeneration};
use flow::{RowBatch, Rows};
use packet::{KeyV4, KeyV6, MaskedKey};
use report::{Answer, Span};
use std::sync::Arc;

/// Queries over window rows, ready for the rows of a site: one set of them, of one generation.
#[derive(Clone, Debug)]
pub struct RowQueries {
    generation: Generation,
    site: Site,
    window: PlanSet,
    run: PlanSet,
    long: Arc<[LongPlans]>,
    overflow: Arc<OverflowPlan>,
}

impl RowQueries {
    /// Plans queries.
    ///
    /// # Errors
    /// All refusals, each with the name of its query.
    pub fn plan(
        generation: Generation,
        queries: &[Query],
        site: &Site,
    ) -> Result<Self, Vec<(String, Refusal)>> {
        let mut refusals = Vec::new();
        // A window of the run's own length needs no merging.
        let over = |query: &Query| match (query.over, site.window_ns) {
            (Over::Windows { every_ns, over_ns }, Some(window)) if [every_ns, over_ns] == [window; 2] => {
                Over::Window
            }
            (over, _) => over,
        };
        let of = |wanted: Over| queries.iter().filter(move |query| over(query) == wanted);
        let window = PlanSet::new(of(Over::Window), site, &mut refusals);
        let run = PlanSet::new(of(Over::Run), site, &mut refusals);
        let mut lengths = Vec::new();
        for query in queries {
            let Over::Windows { every_ns, over_ns } = over(query) else { continue };
            if let Err(refusal) = LongPlans::check(every_ns, over_ns, site) {
                refusals.push((query.name.clone(), refusal));
            } else if !lengths.contains(&(every_ns, over_ns)) {
                lengths.push((every_ns, over_ns));
            }
        }
        let long = lengths.into_iter().map(|(every_ns, over_ns)| {
            let plans = PlanSet::new(of(Over::Windows { every_ns, over_ns }), site, &mut refusals);
            LongPlans::new(every_ns, over_ns, plans)
        });
        let long: Arc<[LongPlans]> = long.collect();
        let summarised = window.plans.iter().chain(&run.plans);
        let overflow = Arc::new(OverflowPlan::new(generation, summarised));
        match refusals.is_empty() {
            true => Ok(Self { generation, site: site.clone(), window, run, long, overflow }),
            false => Err(refusals),
        }
    }

    /// The number of this set.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// True if any query is about windows.
    pub fn asks_of_windows(&self) -> bool {
        !self.window.plans.is_empty() || !self.long.is_empty()
    }

    /// True if any query is about the whole run.
    pub fn asks_of_run(&self) -> bool {
        !self.run.plans.is_empty()
    }

    /// What one worker counts packets without a place in; `None` if no query asks for their groups.
    pub fn overflow_counter(&self) -> Option<OverflowCounter> {
        (!self.overflow.is_empty()).then(|| OverflowCounter::new(&self.overflow, &self.site))
    }

    /// The empty state of a window.
    pub fn window(&self) -> RowPartials {
        RowPartials { generation: self.generation, states: self.window.states(&self.site) }
    }

    /// True if any query is about windows of other lengths than the run's.
    pub fn has_long_windows(&self) -> bool {
        !self.long.is_empty()
    }

    /// The state of windows of other lengths than the run's, before the first one.
    pub fn long_windows(&self) -> LongWindows {
        LongWindows::new(Arc::clone(&self.long), self.site.clone())
    }

    /// The answers of windows without a packet, one for each query of single windows.
    pub fn empty_answers(&self) -> impl Iterator<Item = Answer> + '_ {
        self.window.empty_answers()
    }

    /// The run's empty state; `None` if no query requires it.
    pub fn run(&self) -> Option<RunPartials> {
        let PlanSet { program, plans, columns } = &self.run;
        let is_partitioned = plans.iter().any(|plan| can_be_partitioned(plan, program));
        self.asks_of_run().then(|| RunPartials {
            merged: MergedRows::new(columns.clone(), &self.site),
            whole: WholeRows {
                states: self.run.states(&self.site),
                held: is_partitioned.then(|| HeldRows::new(columns.clone(), &self.site)),
            },
        })
    }

    /// The answers over the whole run, of the time that it was watched. `outside`: packets that are in no row.
    pub fn run_answers<'a>(
        &self,
        rows: RunPartials,
        watched: Option<Span>,
        outside: impl Into<Outside<'a>>,
    ) -> Vec<Answer> {
        let RunPartials { merged, mut whole } = rows;
        let outside = outside.into();
        // Groups of which only packets without a place tell come to all others: partitions forget these.
        if outside.overflow.is_some() {
            whole.release(&self.run);
        }
        merged.each_v4(|batch| whole.add(&self.run, batch, HeldRows::push_v4));
        merged.each_v6(|batch| whole.add(&self.run, batch, HeldRows::push_v6));
        let unplaced = merged.unplaced();
        drop(merged);
        let mut states = whole.states(&self.run, &self.site);
        let mut answers = self
            .run
            .answers(&mut states, Covered { window: None, watched, outside, plan: Some(&self.overflow) });
        if unplaced != 0 {
            let reason = format!("memory ran out: {unplaced} rows are in no flow");
            answers.iter_mut().for_each(|answer| answer.lacks(&reason));
        }
        answers
    }
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
    v4: RowBatch<KeyV4>,
    v6: RowBatch<KeyV6>,
}

impl RowPartials {
    /// The set of queries that it belongs to.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Takes IPv4 rows of the window.
    pub fn add_v4(&mut self, queries: &RowQueries, rows: &Rows<KeyV4>, scratch: &mut RowScratch) {
        scratch.v4.fill(rows, &queries.window.columns);
        queries.window.add(&mut self.states, &scratch.v4, |_| true);
    }

    /// Takes IPv6 rows of the window.
    pub fn add_v6(&mut self, queries: &RowQueries, rows: &Rows<KeyV6>, scratch: &mut RowScratch) {
        scratch.v6.fill(rows, &queries.window.columns);
        queries.window.add(&mut self.states, &scratch.v6, |_| true);
    }

    /// Merges the state of another core or node for the same window.
    ///
    /// # Errors
    /// If the other is of another generation; nothing is changed then.
    pub fn merge(&mut self, queries: &RowQueries, other: &Self) -> Result<(), OtherGeneration> {
        queries.generation.takes(self.generation)?;
        self.generation.takes(other.generation)?;
        for ((state, other), plan) in self.states.iter_mut().zip(&other.states).zip(&queries.window.plans) {
            state.merge(plan, other);
        }
        Ok(())
    }

    /// The answers of the window, of which this part was watched. `outside`: packets that are in no row.
    pub fn window_answers<'a>(
        mut self,
        queries: &RowQueries,
        span: Span,
        watched: Span,
        outside: impl Into<Outside<'a>>,
    ) -> Vec<Answer> {
        let (outside, plan) = (outside.into(), Some(&*queries.overflow));
        let covered = Covered { window: Some(span), watched: Some(watched), outside, plan };
        queries.window.answers(&mut self.states, covered)
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
    states: Vec<QueryState>,
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
        set: &PlanSet,
        batch: &RowBatch<K>,
        hold: fn(&mut HeldRows, &RowBatch<K>) -> bool,
    ) {
        if self.held.as_mut().is_some_and(|held| !hold(held, batch)) {
            self.release(set);
        }
        let is_held = self.held.is_some();
        set.add(&mut self.states, batch, |plan| !is_held || !can_be_partitioned(plan, &set.program));
    }

    /// Passes all rows that are held to the queries.
    fn release(&mut self, set: &PlanSet) {
        let Self { states, held } = self;
        if let Some(held) = held.take() {
            held.each_v4(|batch| set.add(states, batch, |plan| can_be_partitioned(plan, &set.program)));
            held.each_v6(|batch| set.add(states, batch, |plan| can_be_partitioned(plan, &set.program)));
        }
    }

    /// The states of all queries, after all rows.
    fn states(mut self, set: &PlanSet, site: &Site) -> Vec<QueryState> {
        let Some(held) = self.held else { return self.states };
        let partitioned = set.plans.iter().map(|plan| held.state_of(plan, &set.program, site));
        let mut are_missing = Vec::new();
        for ((state, plan), partitioned) in self.states.iter_mut().zip(&set.plans).zip(partitioned) {
            let is_missing = partitioned.is_none() && can_be_partitioned(plan, &set.program);
            are_missing.push(is_missing);
            if let Some(partitioned) = partitioned {
                *state = partitioned;
            }
        }
        // Without memory for partitions.
        for (at, _) in are_missing.iter().enumerate().filter(|(_, is_missing)| **is_missing) {
            let state = &mut self.states[at];
            held.each_v4(|batch| {
                state.add(&set.plans[at], &mut super::evaluate::Evaluation::new(&set.program, batch));
            });
            held.each_v6(|batch| {
                state.add(&set.plans[at], &mut super::evaluate::Evaluation::new(&set.program, batch));
            });
        }
        self.states
    }
}
