//! The set of all that a run answers at one time.

use crate::answering;
use crate::by_packets::{SplitPlan, SplitQuery, split};
use crate::packet_needs::Needs;
use crate::pins::{self, StatisticsRead};
use crate::query::Query;
use crate::rows::{PacketFieldPolicy, PlanContext, Refusal, RowQueries};
use crate::sketched;
use crate::{Generation, Tasks};
use flow::Statistic;
use model::Answer;
use packet::Pins;
use std::sync::Arc;

/// Queries over window rows, tasks that rows answer, and tasks that count packets: what is answered of each window, as one set of one generation.
#[derive(Clone, Debug)]
pub struct TaskSet {
    rows: RowQueries,
    row_tasks: Option<Tasks>,
    packets: Option<Tasks>,
    pins: Option<Arc<Pins>>,
    follows_losses: bool,
    statistics: StatisticsRead,
    split: Arc<[SplitQuery]>,
}

impl TaskSet {
    /// Plans queries over the rows of a site, and adds tasks that are planned already.
    ///
    /// # Errors
    /// Returns all refusals, each with the name of its query.
    pub fn plan(
        generation: Generation,
        queries: &[Query],
        tasks: Option<Tasks>,
        site: &PlanContext,
    ) -> Result<Self, Vec<(String, Refusal)>> {
        Self::plan_with(generation, queries, &[], tasks, site)
    }

    /// Plans a set as [`Self::plan`], with `others` that later sets may lack ([`RowQueries::plan_with`]).
    ///
    /// # Errors
    /// Returns all refusals, each with the name of its query.
    pub fn plan_with(
        generation: Generation,
        queries: &[Query],
        others: &[Query],
        tasks: Option<Tasks>,
        site: &PlanContext,
    ) -> Result<Self, Vec<(String, Refusal)>> {
        let all = queries.iter().chain(others);
        let (counted, all): (Vec<&Query>, Vec<&Query>) = all.partition(|query| query.counting.is_some());
        let tasks = sketched::with_queries(tasks, &counted, site)?;
        let counts = site.by_packets == PacketFieldPolicy::Counted;
        let is_by_packets = |query: &&Query| counts && !Needs::from_query(query, site).all().is_empty();
        let by_packets: Vec<&Query> = all.into_iter().filter(is_by_packets).collect();
        let (split, tables) = split(generation, &by_packets, site)?;
        let of_rows = |queries: &[Query]| -> Vec<Query> {
            let is_of_rows = |query: &&Query| query.counting.is_none() && !is_by_packets(query);
            queries.iter().filter(is_of_rows).cloned().collect()
        };
        let (queries, others) = (&of_rows(queries)[..], &of_rows(others)[..]);
        let apart = tasks.map(|tasks| tasks.apart(generation, &site.limits));
        let (packets, row_tasks) = apart.unwrap_or_default();
        let plan = (!tables.is_empty()).then(|| SplitPlan::new(tables, site.seed, &site.limits));
        let packets = Tasks::with_split(packets, generation, plan);
        let all = || queries.iter().chain(others);
        let statistics = pins::statistics(all(), site)?;
        let own;
        let of_all = if statistics.of_all { &site.row_statistics[..] } else { &[] };
        let names: Vec<_> = of_all.iter().chain(&statistics.of_pinned).map(Statistic::to_string).collect();
        let site = if names.is_empty() {
            site
        } else {
            own = PlanContext { statistics: names, ..site.clone() };
            &own
        };
        let rows = RowQueries::plan_with(generation, queries, others, site)?;
        let pins = pins::collect_pins(all(), site)?;
        let follows_losses = all().any(|query| site.tracks_pinned_losses(query));
        Ok(Self { rows, row_tasks, packets, pins, follows_losses, statistics, split: split.into() })
    }

    /// The number of this set.
    pub fn generation(&self) -> Generation {
        self.rows.generation()
    }

    /// The queries over rows.
    pub fn rows(&self) -> &RowQueries {
        &self.rows
    }

    /// The flows that its queries pin, of whose packets more is measured than of others; `None` if no query needs that.
    pub fn pins(&self) -> Option<&Arc<Pins>> {
        self.pins.as_ref()
    }

    /// Returns true if losses are tracked of these flows, because queries read them and not all flows have them.
    pub fn follows_losses(&self) -> bool {
        self.follows_losses
    }

    /// The statistics of packets that queries read of these flows alone, in the order in which rows have them, behind those of all flows.
    pub fn statistics(&self) -> &[Statistic] {
        &self.statistics.of_pinned
    }

    /// Returns true if queries read statistics of packets that rows of all flows have: each row then begins with all of
    /// [`PlanContext::row_statistics`].
    pub fn reads_row_statistics(&self) -> bool {
        self.statistics.of_all
    }

    /// The tasks that rows of windows answer.
    pub fn row_tasks(&self) -> Option<&Tasks> {
        self.row_tasks.as_ref()
    }

    /// True where anything reads the rows of single windows.
    pub fn asks_of_windows(&self) -> bool {
        self.rows.asks_of_windows() || self.row_tasks.is_some()
    }

    /// The answers of queries about windows without a packet.
    pub fn empty_answers(&self) -> impl Iterator<Item = Answer> + '_ {
        let of_packets = self.packets.iter().flat_map(answering::empty_answers);
        let of_split = self.split.iter().flat_map(|query| query.queries().empty_answers());
        self.rows.empty_answers().chain(of_split).chain(of_packets)
    }

    /// The queries that are answered by packets.
    pub fn by_packets(&self) -> &[SplitQuery] {
        &self.split
    }

    /// The tasks that count packets.
    pub fn packets(&self) -> Option<&Tasks> {
        self.packets.as_ref()
    }
}
