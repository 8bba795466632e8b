//! Chains that must reach a query in time (`within`).

use super::{Machine, MachineStep, plain_event, window};
use crate::graph::Graph;
use crate::key::Member;
use crate::run::QueryRun;
use crate::state::{ChainDeadline, MachineState};
use model::{Column, ColumnKind, EventKind, Item, Value};
use std::collections::BTreeSet;

impl Machine {
    /// Ends chains that have not reached a query in time.
    pub(super) fn end_chains(&mut self, end_ns: u64, step: &mut MachineStep) {
        let Self { graph, state, .. } = self;
        let is_over = |chain: &ChainDeadline| {
            !chain.has_started && chain.deadline_ns <= end_ns && graph.queries[chain.query].ends_at(end_ns)
        };
        let (mut over, left): (Vec<_>, Vec<_>) = state.chains.drain(..).partition(is_over);
        state.chains = left;
        if over.is_empty() {
            return;
        }
        over.sort_by_key(|chain| chain.query);
        for ChainDeadline { query, root, reached, cause, .. } in over {
            let own = &graph.queries[query];
            let name = graph.queries[reached].name.as_str();
            let mut event = plain_event(
                EventKind::Timeout,
                own,
                None,
                window(own, end_ns),
                &vec![Member::Text(root.clone())],
            );
            let column = Column::new("reached", ColumnKind::Text, "");
            event.values = vec![Item { column, value: Value::from(name) }];
            event.fired_by = Some(name.to_owned());
            event.parent = Some(cause);
            step.events.push(event);
            let before = graph.before(query);
            state.runs.retain(|run| run.root != root || !before.contains(&run.query));
        }
        step.is_quiet = false;
        state.forget_ended_runs();
    }
}

/// A query starts: the chains of these first events have reached it.
pub(super) fn reach(state: &mut MachineState, query: usize, roots: &BTreeSet<&str>) {
    for chain in state.chains.iter_mut().filter(|chain| chain.query == query) {
        chain.has_started |= roots.contains(chain.root.as_str());
    }
}

/// Follows the chain of a run that begins, for each query that it must reach in time.
pub(super) fn follow(graph: &Graph, state: &mut MachineState, run: &QueryRun) {
    for (query, of) in graph.queries.iter().enumerate() {
        let Some(within_ns) = of.trigger.as_ref().and_then(|trigger| trigger.within_ns) else { continue };
        if !graph.before(query).contains(&run.query) {
            continue;
        }
        let mut own = state.chains.iter_mut().filter(|chain| chain.query == query);
        if let Some(chain) = own.find(|chain| chain.root == run.root) {
            // Queries come after those that start them.
            if run.query >= chain.reached {
                (chain.reached, chain.cause) = (run.query, run.cause.clone());
            }
            continue;
        }
        if state.chains.iter().filter(|chain| chain.query == query).count() >= graph.settings.most_keys {
            *state.unfollowed.entry(query).or_default() += 1;
            continue;
        }
        state.chains.push(ChainDeadline {
            query,
            root: run.root.clone(),
            deadline_ns: run.begun_ns.saturating_add(within_ns),
            reached: run.query,
            cause: run.cause.clone(),
            has_started: false,
        });
    }
}
