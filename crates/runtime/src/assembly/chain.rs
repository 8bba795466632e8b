//! The queries of a run as a controller and the page see them, and what each node answers whatever it is told.

use super::plan::RunPlan;
use crate::exit::Failure;
use crate::questions::asked::QuerySet;
use crate::questions::continuous::{self, StandingOptions};
use controller::views;
use engine::Every;
use equery::{Chain, ChainSite, CheckedQuery};
use model::view::QueryView;
use task::query::{Over, Query};

/// The queries of windows. Where windows of a capture are not shown, those that say nothing of time and start nothing answer over the run
/// alone, each on its node.
pub(super) fn chain(plan: &RunPlan, nodes: &[String]) -> Result<Chain, Failure> {
    let RunPlan { options, asked, of_windows, .. } = plan;
    let usual_ns = match asked.default_every.unwrap_or(options.question.every) {
        Every::Time(length) => length,
        Every::Packets(_) => 0,
    };
    let has_windows = |query: &&CheckedQuery| {
        let is_of_windows = query.plan.over != Over::Window || query.across.is_some();
        *of_windows || is_of_windows || is_connected(query, asked)
    };
    let queries: Vec<CheckedQuery> = asked.checked.iter().filter(has_windows).cloned().collect();
    let site = ChainSite {
        nodes,
        key: &options.question.key.parts(),
        window_ns: usual_ns,
        settings: events::EventSettings::default(),
    };
    Chain::new(&queries, &site).map_err(Failure::usages)
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

/// Returns true if a query starts or reads another one, is started or read, or reads its own earlier windows.
fn is_connected(query: &CheckedQuery, asked: &QuerySet) -> bool {
    let is_parent = |other: &CheckedQuery| {
        other.derived_from.contains(&query.label)
            || other.trigger.iter().any(|trigger| trigger.parents.contains(&query.label))
    };
    let is_computed = !query.derived_from.is_empty() || !query.earlier.is_empty();
    query.trigger.is_some() || is_computed || asked.checked.iter().any(is_parent)
}

/// Returns the queries that a node answers whatever the controller asks: those over the run, and without the user's those of the program.
pub(super) fn own_queries(plan: &RunPlan, node: &str) -> Vec<Query> {
    let RunPlan { options, asked, of_windows, .. } = plan;
    let of_run = continuous::are_of_run(options);
    if asked.is_empty() {
        return continuous::continuous_queries(&StandingOptions {
            key: options.question.key,
            tracks_loss: options.packets.loss,
            biflow: options.record.biflow,
            top: options.question.top,
            of_windows: *of_windows,
            of_run,
        });
    }
    let timeless = asked.checked.iter().filter(|query| query.plan.over == Over::Window);
    let is_of_node = |query: &&CheckedQuery| query.across.is_none() && query.nodes.matches(node);
    // Statistics of packets are of single windows.
    let of_run = |query: &&CheckedQuery| of_run && query.statistics.is_empty();
    let own = timeless.filter(|query| of_run(query) && is_of_node(query) && !is_connected(query, asked));
    own.map(|query| Query { over: Over::Run, ..query.plan.clone() }).collect()
}
