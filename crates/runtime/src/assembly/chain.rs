//! The queries of a run as a controller and the page see them, and what each node answers whatever it is told.

use super::plan::RunPlan;
use super::whole_run::{self, WholeRun};
use crate::exit::Failure;
use crate::machine;
use crate::questions::asked::QuerySet;
use crate::questions::continuous::{self, StandingOptions};
use controller::views;
use engine::Every;
use equery::{Chain, ChainSite, CheckedQuery};
use model::view::QueryView;
use std::collections::BTreeSet;
use task::query::{Over, Query};

/// The queries of windows. Where windows of a capture are not shown, those that say nothing of time and start nothing answer over the run
/// alone.
pub(super) fn chain(plan: &RunPlan, nodes: &[String]) -> Result<Chain, Failure> {
    let of_windows = has_windows(plan);
    let is_kept = |query: &&CheckedQuery| plan.of_windows || of_windows.contains(query.label.as_str());
    let queries: Vec<CheckedQuery> = plan.asked.checked.iter().filter(is_kept).cloned().collect();
    Chain::new(&queries, &site(plan, nodes, &plan.options.question.key.parts())).map_err(Failure::usages)
}

/// Returns the queries that have an answer of the whole run.
pub(super) fn whole_run(plan: &RunPlan, nodes: &[String]) -> Result<WholeRun, Failure> {
    let key = plan.options.question.key.parts();
    let site = site(plan, nodes, &key);
    // A node without a controller answers by itself, and rows that were recorded are windows.
    let is_measured = plan.is_controlled() && plan.recorded.is_none();
    let of_windows = match is_measured && continuous::are_of_run(&plan.options) {
        true => has_windows(plan),
        false => plan.asked.checked.iter().map(|query| query.label.as_str()).collect(),
    };
    let memory = plan.options.limit.memory.unwrap_or_else(machine::half_of_memory);
    WholeRun::new(&plan.asked, &site, &of_windows, memory)
}

fn site<'a>(plan: &RunPlan, nodes: &'a [String], key: &'a [String]) -> ChainSite<'a> {
    let length = |every: Every| match every {
        Every::Time(length) => length,
        Every::Packets(_) => 0,
    };
    let base_ns = length(plan.options.question.every);
    let window_ns = plan.asked.default_every.map_or(base_ns, length);
    ChainSite { nodes, key, window_ns, base_ns, settings: events::EventSettings::default() }
}

/// The queries whose windows are needed whether or not they are shown: they have windows of their own, are started, start others, or read
/// windows, and what these read.
fn has_windows(plan: &RunPlan) -> BTreeSet<&str> {
    let queries = &plan.asked.checked;
    let answered = whole_run::answered(queries);
    // Statistics of packets are of windows, but ask for none.
    let is_of_windows = |query: &&CheckedQuery| {
        let is_computed = !query.derived_from.is_empty() || !query.earlier.is_empty();
        let says = query.plan.over != Over::Window || query.across.is_some() || query.trigger.is_some();
        let asks = says || query.sketch.is_some();
        !answered.contains(query.label.as_str()) && (asks || is_computed)
    };
    let own = queries.iter().filter(is_of_windows).map(|query| query.label.as_str());
    let parents = queries.iter().flat_map(|query| &query.trigger).flat_map(|trigger| &trigger.parents);
    whole_run::with_parents(queries, own.chain(parents.map(String::as_str)).collect())
}

/// Says which queries have no answer: statistics of packets are of windows, and of a capture none are shown without `--every`.
pub(super) fn remarks_of_statistics(plan: &RunPlan) -> Vec<String> {
    if plan.of_windows || plan.shows_windows || plan.options.question.per.is_some() {
        return Vec::new();
    }
    let of_windows = has_windows(plan);
    let is_unanswered = |query: &&CheckedQuery| {
        let is_of_run = query.plan.over == Over::Window && !of_windows.contains(query.label.as_str());
        is_of_run && !query.statistics.is_empty()
    };
    let remark = |query: &CheckedQuery| {
        let names: Vec<String> = query.plan.statistics().iter().map(ToString::to_string).collect();
        format!(
            "{}: statistics of packets ({}) are of windows, and this run answers none: give --every, as --every 10s",
            query.label,
            names.join(", ")
        )
    };
    plan.asked.checked.iter().filter(is_unanswered).map(remark).collect()
}

/// The queries of a run that no controller drives, as they are shown while it runs.
pub(super) fn views(chain: Option<&Chain>, asked: &QuerySet) -> Vec<QueryView> {
    let Some(chain) = chain else { return Vec::new() };
    let texts = asked.checked.iter().map(|query| (query, None));
    views::queries(chain, &events::MachineState::default(), texts)
}

/// The queries that start others, whose answers are not shown as tables: what they found is in the stories. With `--per`, those that say
/// nothing of time are shown, as a row for each interval is asked of them.
pub(super) fn steps(plan: &RunPlan) -> Vec<String> {
    let RunPlan { options, asked, .. } = plan;
    let per = options.question.per.map(|per| u64::try_from(per.as_nanos()).unwrap_or(u64::MAX));
    let of_intervals = per.map(|ns| Over::Windows { every_ns: ns, over_ns: ns });
    let has_rows = |name: &&String| {
        let query = asked.checked.iter().find(|query| query.label == **name);
        query.is_some_and(|query| of_intervals == Some(query.plan.over))
    };
    let parents = asked.checked.iter().flat_map(|query| &query.trigger).flat_map(|trigger| &trigger.parents);
    parents.filter(|name| !has_rows(name)).cloned().collect()
}

/// Returns the queries that a node answers whatever the controller asks: those over the run, and without the user's those of the program.
pub(super) fn own_queries(plan: &RunPlan, whole: &WholeRun, node: &str) -> Vec<Query> {
    let RunPlan { options, asked, of_windows, .. } = plan;
    if !asked.is_empty() {
        return whole.own(asked, node);
    }
    continuous::continuous_queries(&StandingOptions {
        key: options.question.key,
        tracks_loss: options.packets.loss,
        biflow: options.record.biflow,
        top: options.question.top,
        of_windows: *of_windows,
        of_run: continuous::are_of_run(options),
    })
}
