//! The test whether rollups answer a question exactly.

use crate::question::AnswerSetting;
use packet::KeySpec;
use store::Level;
use task::Generation;
use task::query::{Over, Query};
use task::rows::{PacketFieldPolicy, PlanContext, RowQueries};

/// The fields that a rollup's keys leave out.
const PORTS: &str = "src_port,dst_port";

/// Returns true if windows of this level fit into those of a query.
pub(super) fn fits(query: &Query, level: Level) -> bool {
    match (query.over, level.window_ns()) {
        (_, None) => true,
        // An answer covers panes of this length: a rollup's window lies in one of them.
        (Over::Windows { every_ns, .. }, Some(length)) => every_ns.is_multiple_of(length),
        (Over::Run, Some(_)) => true,
        // Windows of the run's own length.
        (Over::Window, Some(_)) => false,
    }
}

/// Returns true if rows of these keys, whatever the length of their windows, give the answer that rows with ports give. Both are asked of the
/// plan: what it reads, the keys have; and it reads members of the key, and of all else only totals, least and greatest values, which merging
/// rows leaves as they are.
pub(super) fn keeps(query: &Query, rollup: KeySpec, setting: &AnswerSetting) -> bool {
    let Ok(ports) = KeySpec::parse(PORTS) else { return false };
    let plan = |key: KeySpec| {
        RowQueries::plan(Generation::default(), std::slice::from_ref(query), &site(key, setting)).ok()
    };
    plan(rollup).is_some() && plan(rollup.with(&ports)).is_some_and(|plan| plan.reads_totals())
}

/// The query over all rows of such keys, as it is planned for them.
pub(super) fn plan_run(query: &Query, key: &KeySpec, setting: &AnswerSetting) -> Option<RowQueries> {
    let query = Query { over: Over::Run, ..query.clone() };
    RowQueries::plan(Generation::default(), &[query], &site(*key, setting)).ok()
}

/// Returns the properties of rows of such keys. Which statistics and losses there are, the files tell once they are open.
pub(super) fn site(key: KeySpec, setting: &AnswerSetting) -> PlanContext {
    PlanContext {
        window_ns: Some(1),
        tracked: flow::TrackedParts::ALL,
        geo: setting.geo.clone(),
        by_packets: PacketFieldPolicy::Named,
        ..PlanContext::new(key, setting.seed, setting.limits.clone())
    }
}
