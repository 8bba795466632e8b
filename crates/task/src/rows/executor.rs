//! Runs queries over the rows of windows, each separately, and over the whole run.

use super::answer::Covered;
use super::evaluate::Evaluation;
use super::long_windows::{ArrivalOrder, LongPlans, LongWindows};
use super::merged::MergedRows;
use super::outside::Outside;
use super::overflow::{OverflowCounter, OverflowPlan};
use super::partitioned::{HeldRows, can_be_partitioned};
use super::plan::QueryPlan;
use super::plan_set::PlanSet;
use super::scratch::RowScratch;
use super::state::QueryWindowState;
use super::untold::untold_of_totals;
use crate::plan_context::PlanContext;
use crate::query::{Over, Query};
use crate::row_refusal::Refusal;
use crate::{Generation, OtherGeneration};
use flow::{RowBatch, Rows, Untold};
use model::{Answer, Span};
use packet::{KeyV4, KeyV6, MaskedKey};
use std::sync::Arc;

/// Queries over window rows, ready for the rows of a site: one set of them, of one generation.
#[derive(Clone, Debug)]
pub struct RowQueries {
    generation: Generation,
    site: PlanContext,
    window: PlanSet,
    run: PlanSet,
    long: Arc<[LongPlans]>,
    overflow: Arc<OverflowPlan>,
}

impl RowQueries {
    /// Plans queries.
    ///
    /// # Errors
    /// Returns all refusals, each with the name of its query.
    pub fn plan(
        generation: Generation,
        queries: &[Query],
        site: &PlanContext,
    ) -> Result<Self, Vec<(String, Refusal)>> {
        Self::plan_with(generation, queries, &[], site)
    }

    /// Plans queries, and `others` that later sets may have without them or they without the others: windows of other lengths than the
    /// run's are kept from one set to the next, those of `queries` together, those of each other one by themselves.
    ///
    /// # Errors
    /// Returns all refusals, each with the name of its query.
    pub fn plan_with(
        generation: Generation,
        queries: &[Query],
        others: &[Query],
        site: &PlanContext,
    ) -> Result<Self, Vec<(String, Refusal)>> {
        let mut refusals = Vec::new();
        // A window of the run's own length needs no merging.
        let over = |query: &Query| match (query.over, site.window_ns) {
            (Over::Windows { every_ns, over_ns }, Some(window)) if [every_ns, over_ns] == [window; 2] => {
                Over::Window
            }
            (over, _) => over,
        };
        let all = || queries.iter().chain(others);
        refusals.extend(all().filter(|query| query.counting.is_some()).map(|query| {
            let why = "rows do not tell packets, which 'using' and 'error' count".to_owned();
            (query.name.clone(), Refusal::NotCounted { why })
        }));
        let of = |wanted: Over| all().filter(move |query| over(query) == wanted);
        let window = PlanSet::new(of(Over::Window), site, &mut refusals);
        let run = PlanSet::new(of(Over::Run), site, &mut refusals);
        // Queries of one length that stay together.
        let mut lengths: Vec<((u64, u64), Vec<&Query>)> = Vec::new();
        for (at, query) in all().enumerate() {
            let Over::Windows { every_ns, over_ns } = over(query) else { continue };
            if let Err(refusal) = LongPlans::check(every_ns, over_ns, site) {
                refusals.push((query.name.clone(), refusal));
                continue;
            }
            let length = (every_ns, over_ns);
            match lengths.iter_mut().find(|(known, _)| *known == length && at < queries.len()) {
                Some((_, together)) => together.push(query),
                None => lengths.push((length, vec![query])),
            }
        }
        let long = lengths.into_iter().map(|((every_ns, over_ns), together)| {
            let plans = PlanSet::new(together.into_iter(), site, &mut refusals);
            LongPlans::new(every_ns, over_ns, plans)
        });
        let long: Arc<[LongPlans]> = long.collect();
        let summarised = window.plans.iter().chain(&run.plans).filter_map(|plan| plan.summary.as_ref());
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

    /// Returns of what was not told the numbers that matter to queries over the run; the others are 0.
    #[must_use]
    pub fn untold_of_run(&self, untold: &Untold) -> Untold {
        let mut all = Untold::default();
        self.run.plans.iter().for_each(|plan| all.add(&plan.untold(untold)));
        all.at_most(untold)
    }

    /// Returns of what was not told the numbers that matter to the number of flows in the answer `totals`; the others are 0.
    #[must_use]
    pub fn untold_of_totals(&self, untold: &Untold) -> Untold {
        untold_of_totals(untold, &self.site.key)
    }

    /// Returns whether an answer depends on which packets are one flow.
    pub fn count_flows(&self) -> bool {
        let long = self.long.iter().flat_map(|plans| &plans.plans().plans);
        self.run.plans.iter().chain(&self.window.plans).chain(long).any(QueryPlan::is_of_flows)
    }

    /// True if any query is about the whole run.
    pub fn asks_of_run(&self) -> bool {
        !self.run.plans.is_empty()
    }

    /// True if no answer depends on how packets are spread over the rows of a flow: rows that are merged, of one flow or of several that no query tells
    /// apart, give the same.
    pub fn reads_totals(&self) -> bool {
        let long = self.long.iter().map(LongPlans::plans);
        let mut plans = [&self.window, &self.run].into_iter().chain(long).flat_map(|set| &set.plans);
        plans.all(|plan| !plan.merges)
    }

    /// Creates the counter of one worker for packets without a place; `None` if no query asks for their groups.
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

    /// Adds the states of windows of other lengths than the run's that are not there yet: one for queries that stay together.
    pub fn begin_long_windows(&self, states: &mut Vec<LongWindows>) {
        for plans in self.long.iter() {
            if !states.iter().any(|state| state.plans().iter().any(|own| own.is_same(plans))) {
                states.push(LongWindows::new(
                    Arc::from([plans.clone()]),
                    self.site.clone(),
                    ArrivalOrder::ByTime,
                ));
            }
        }
    }

    /// Returns true if the set has the queries of this state.
    pub fn continues(&self, windows: &LongWindows) -> bool {
        windows.plans().iter().all(|plans| self.long.iter().any(|own| own.is_same(plans)))
    }

    /// The answers of windows without a packet, one for each query of single windows.
    pub fn empty_answers(&self) -> impl Iterator<Item = Answer> + '_ {
        self.window.empty_answers()
    }

    /// The run's empty state; `None` if no query requires it.
    pub fn run(&self) -> Option<RunPartials> {
        let reads = |plan: &QueryPlan| match can_be_partitioned(plan, &self.run.program) {
            true => ReadMode::Held,
            false => ReadMode::Rows,
        };
        self.asks_of_run().then(|| RunPartials {
            merged: (0..self.site.pass_count())
                .map(|pass| MergedRows::for_pass(self.run.columns.clone(), &self.site, pass))
                .collect(),
            whole: WholeRows::new(&self.run, &self.site, reads),
        })
    }

    /// Returns the plans over the whole run.
    pub(crate) fn run_plans(&self) -> &PlanSet {
        &self.run
    }

    /// Returns the plans over windows of their own lengths.
    pub(crate) fn long_plans(&self) -> &Arc<[LongPlans]> {
        &self.long
    }

    /// Returns the properties of the rows.
    pub(crate) fn site(&self) -> &PlanContext {
        &self.site
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
        let mut unplaced = 0;
        for (pass, merged) in merged.into_iter().enumerate() {
            merged.each_v4(|batch| whole.add_pass(pass, &self.run, batch, HeldRows::push_v4));
            merged.each_v6(|batch| whole.add_pass(pass, &self.run, batch, HeldRows::push_v6));
            unplaced += merged.unplaced();
        }
        let mut states = whole.states(&self.run, &self.site);
        let mut answers = self
            .run
            .answers(&mut states, Covered { window: None, watched, outside, plan: Some(&self.overflow) });
        if unplaced != 0 {
            let reason = format!(
                "memory ran out: {} in no flow",
                notation::counted_as(unplaced, "row", ["is", "are"])
            );
            answers.iter_mut().for_each(|answer| answer.mark_partial(&reason));
        }
        answers
    }
}

/// The state of all queries of a set for one window: partial answers, which merge with those of other cores
/// and nodes.
#[derive(Debug)]
pub struct RowPartials {
    generation: Generation,
    states: Vec<QueryWindowState>,
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

    /// Takes the rows of a [pass](PlanContext::passes).
    pub fn add_pass(
        &mut self,
        queries: &RowQueries,
        pass: usize,
        (v4, v6): (&Rows<KeyV4>, &Rows<KeyV6>),
        scratch: &mut RowScratch,
    ) {
        scratch.fill(v4, v6, &queries.window.columns);
        queries.window.add_pass(pass, &mut self.states, &scratch.v4, |_| true);
        queries.window.add_pass(pass, &mut self.states, &scratch.v6, |_| true);
    }

    /// Merges the state of another core or node for the same window.
    ///
    /// # Errors
    /// If the other is of another generation; nothing is changed then.
    pub fn merge(&mut self, queries: &RowQueries, other: &Self) -> Result<(), OtherGeneration> {
        queries.generation.check_same(self.generation)?;
        self.generation.check_same(other.generation)?;
        for ((state, other), plan) in self.states.iter_mut().zip(&other.states).zip(&queries.window.plans) {
            state.merge(plan, other);
        }
        Ok(())
    }

    /// The answers of the window, of which this part was watched. `outside`: packets that are in no row.
    pub fn window_answers<'a>(
        self,
        queries: &RowQueries,
        span: Span,
        watched: Span,
        outside: impl Into<Outside<'a>>,
    ) -> Vec<Answer> {
        self.window_answers_after(queries, queries, span, watched, outside)
    }

    /// Answers as [`Self::window_answers`] after the window was answered by another set, for whose queries the groups of packets in no row
    /// were counted: where one of them groups and filters as a query here, its bounds are that query's too.
    pub fn window_answers_after<'a>(
        mut self,
        queries: &RowQueries,
        answered: &RowQueries,
        span: Span,
        watched: Span,
        outside: impl Into<Outside<'a>>,
    ) -> Vec<Answer> {
        let (outside, plan) = (outside.into(), Some(&*answered.overflow));
        let covered = Covered { window: Some(span), watched: Some(watched), outside, plan };
        queries.window.answers(&mut self.states, covered)
    }
}

/// The state of all queries over the run: rows of one key are merged before a query reads them.
#[derive(Debug)]
pub struct RunPartials {
    /// The merged rows of each pass.
    merged: Vec<MergedRows>,
    whole: WholeRows,
}

/// Rows that are not merged with others: those of whole flows, or of queries that need no merged ones.
#[derive(Debug)]
pub(crate) struct WholeRows {
    states: Vec<QueryWindowState>,
    /// The way in which each plan reads rows.
    reads: Vec<ReadMode>,
    /// The rows for queries that are answered by partitions at the end; `None` if there are none, or there was no memory for rows.
    held: Option<HeldRows>,
}

/// The way in which a query reads rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// A query that reads other rows.
    Nothing,
    /// A query that reads rows as they come.
    Rows,
    /// A query that reads rows by partitions, at the end.
    Held,
}

impl RunPartials {
    /// Adds IPv4 rows, of windows or of ended records; those of one key must be added in order.
    pub fn add_v4(&mut self, rows: &Rows<KeyV4>) {
        self.merged[0].add_v4(rows);
    }

    /// Adds IPv6 rows.
    pub fn add_v6(&mut self, rows: &Rows<KeyV6>) {
        self.merged[0].add_v6(rows);
    }

    /// Adds the rows of a [pass](PlanContext::passes).
    pub fn add_pass(&mut self, pass: usize, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        if let Some(merged) = self.merged.get_mut(pass) {
            merged.add_v4(v4);
            merged.add_v6(v6);
        }
    }

    /// Adds IPv4 rows that are the last ones of their keys, each passed once: those whose keys had no earlier
    /// rows, which are most, are passed to the queries at once.
    pub fn add_last_v4(&mut self, queries: &RowQueries, rows: &Rows<KeyV4>) {
        let Self { merged, whole } = self;
        whole.add(&queries.run, merged[0].add_known_v4(rows), HeldRows::push_v4);
    }

    /// Adds IPv6 rows that are the last ones of their keys, each passed once, as [`Self::add_last_v4`] does.
    pub fn add_last_v6(&mut self, queries: &RowQueries, rows: &Rows<KeyV6>) {
        let Self { merged, whole } = self;
        whole.add(&queries.run, merged[0].add_known_v6(rows), HeldRows::push_v6);
    }
}

impl WholeRows {
    /// Creates the state of these plans, without rows as yet.
    pub(crate) fn new(set: &PlanSet, site: &PlanContext, reads: impl Fn(&QueryPlan) -> ReadMode) -> Self {
        let reads: Vec<_> = set.plans.iter().map(reads).collect();
        let held = reads.contains(&ReadMode::Held).then(|| HeldRows::new(set.columns.clone(), site));
        Self { states: set.states(site), reads, held }
    }

    /// Adds rows. Without memory to hold them, all queries read them from here on.
    pub(crate) fn add<K: MaskedKey>(
        &mut self,
        set: &PlanSet,
        batch: &RowBatch<K>,
        hold: fn(&mut HeldRows, &RowBatch<K>) -> bool,
    ) {
        self.add_pass(0, set, batch, hold);
    }

    /// Adds the rows of a [pass](PlanContext::passes): those of the first one alone are held.
    pub(crate) fn add_pass<K: MaskedKey>(
        &mut self,
        pass: usize,
        set: &PlanSet,
        batch: &RowBatch<K>,
        hold: fn(&mut HeldRows, &RowBatch<K>) -> bool,
    ) {
        if pass == 0 && self.held.as_mut().is_some_and(|held| !hold(held, batch)) {
            self.release(set);
        }
        let Self { states, reads, held } = self;
        let is_held = held.is_some();
        set.add_pass(pass, states, batch, |at| match reads[at] {
            ReadMode::Nothing => false,
            ReadMode::Rows => true,
            ReadMode::Held => !is_held,
        });
    }

    /// Passes all rows that are held to the queries.
    pub(crate) fn release(&mut self, set: &PlanSet) {
        let Self { states, reads, held } = self;
        if let Some(held) = held.take() {
            held.each_v4(|batch| set.add(states, batch, |at| reads[at] == ReadMode::Held));
            held.each_v6(|batch| set.add(states, batch, |at| reads[at] == ReadMode::Held));
        }
    }

    /// Returns the way in which each query reads these rows.
    pub(crate) fn reads(&self) -> &[ReadMode] {
        &self.reads
    }

    /// The states of all queries, after all rows.
    pub(crate) fn states(mut self, set: &PlanSet, site: &PlanContext) -> Vec<QueryWindowState> {
        let Some(held) = self.held else { return self.states };
        let states = self.states.iter_mut().zip(&set.plans).zip(&self.reads);
        for ((state, plan), _) in states.filter(|(_, reads)| **reads == ReadMode::Held) {
            if let Some(partitioned) = held.state_of(plan, &set.program, site) {
                *state = partitioned;
                continue;
            }
            // Without memory for partitions.
            held.each_v4(|batch| state.add(plan, &mut Evaluation::new(&set.program, batch)));
            held.each_v6(|batch| state.add(plan, &mut Evaluation::new(&set.program, batch)));
        }
        self.states
    }
}
