//! Runs of queries that others start.

use super::chains::{follow, reach};
use super::edges::{SourceRuns, run_window};
use super::{Machine, MachineStep, Report, Started, plain_event, window};
use crate::graph::{Graph, GraphQuery, QueryTrigger, TriggerKind};
use crate::key::{EventKey, Member};
use crate::run::QueryRun;
use crate::seen::{Find, ObservedWindow, QueryWindow};
use model::{Column, ColumnKind, Event, EventKind, Item, Span, Value};
use std::rc::Rc;

/// A key that starts a query, or lets it go on.
#[derive(Clone, Debug)]
pub(super) struct Firing {
    /// The event; of a query that goes on while a condition holds, that with which it began.
    pub(super) event: String,
    /// True if the event is told in this step.
    pub(super) is_new: bool,
    /// The values that it pins.
    pub(super) instance: EventKey,
    /// The node that it pins.
    pub(super) node: Option<usize>,
    /// The size by which the largest is first.
    pub(super) size: f64,
    /// The runs of the sources.
    pub(super) runs: Rc<SourceRuns>,
}

impl Machine {
    /// Reports what the runs of triggered queries found.
    pub(super) fn report(&mut self, end_ns: u64, find: &Find<'_>, step: &mut MachineStep) {
        let Self { graph, state, .. } = self;
        for run in &mut state.runs {
            report_run(graph, run, end_ns, find, step);
        }
    }

    /// Starts a query, or lets it run for longer where it runs already.
    pub(super) fn start(
        &mut self,
        child: usize,
        end_ns: u64,
        mut firings: Vec<Firing>,
        find: &Find<'_>,
        step: &mut MachineStep,
    ) {
        let roots =
            firings.iter().flat_map(|firing| firing.runs.of.iter().flatten()).map(|run| run.root.as_str());
        reach(&mut self.state, child, &roots.collect());
        let Some(trigger) = &self.graph.queries[child].trigger else { return };
        if !trigger.has_instances() {
            self.run(child, end_ns, &firings, find, step);
            return;
        }
        let most = self.graph.settings.most_firings;
        firings.sort_by(|a, b| b.size.total_cmp(&a.size));
        let mut suppressed: Vec<Firing> = Vec::new();
        for firing in firings {
            let own = |run: &&QueryRun| run.query == child && (run.end_ns > end_ns || run.looks_back);
            let known = |run: &QueryRun| run.instance == firing.instance && run.node == firing.node;
            let is_known = self.state.runs.iter().filter(own).any(known);
            if is_known || self.state.runs.iter().filter(own).count() < most {
                self.run(child, end_ns, &[firing], find, step);
            } else if firing.is_new {
                suppressed.push(firing);
            }
        }
        if let Some(first) = suppressed.first() {
            let query = &self.graph.queries[child];
            let apart = vec![Member::Text("instances".to_owned())];
            let mut event = plain_event(EventKind::Suppressed, query, None, window(query, end_ns), &apart);
            let column = Column::new("suppressed", ColumnKind::Unsigned, "keys");
            event.values = vec![Item { column, value: Value::Unsigned(suppressed.len() as u64) }];
            event.parent = first.runs.causes().into_iter().next();
            step.events.push(event);
        }
    }

    /// Starts one run, or lets it go on: of the first firing's instance.
    fn run(
        &mut self,
        child: usize,
        end_ns: u64,
        firings: &[Firing],
        find: &Find<'_>,
        step: &mut MachineStep,
    ) {
        let Some(first) = firings.first() else { return };
        let query = &self.graph.queries[child];
        let looks_back = query.trigger.as_ref().is_some_and(QueryTrigger::looks_back);
        let (start_ns, last_ns) = match looks_back {
            true => (window(query, end_ns).start_ns, end_ns),
            false => {
                let start_ns = query.first_start(end_ns, &self.graph.settings);
                (start_ns, query.last_end(start_ns))
            }
        };
        let is_same = |run: &QueryRun| {
            let goes_on = if looks_back { run.looks_back } else { start_ns < run.end_ns };
            run.query == child && goes_on && run.instance == first.instance && run.node == first.node
        };
        let at = self.state.runs.iter().position(is_same).unwrap_or_else(|| {
            let chain = first.runs.first().map(|run| (run.root.clone(), run.begun_ns));
            let (root, begun_ns) = chain.unwrap_or_else(|| (first.event.clone(), end_ns));
            let run = QueryRun {
                query: child,
                start_ns,
                end_ns: last_ns,
                cause: first.event.clone(),
                instance: first.instance.clone(),
                node: first.node,
                root,
                begun_ns,
                looks_back,
                missing: Vec::new(),
            };
            follow(&self.graph, &mut self.state, &run);
            self.state.runs.push(run);
            self.state.runs.len() - 1
        });
        let runs = &mut self.state.runs;
        runs[at].end_ns = runs[at].end_ns.max(last_ns);
        let events = firings.iter().filter(|firing| firing.is_new).map(|firing| firing.event.clone());
        step.started.push(Started { run: runs[at].clone(), events: events.collect() });
        step.is_quiet = false;
        if looks_back {
            report_run(&self.graph, &mut runs[at], end_ns, find, step);
        }
    }

    /// Runs that end then are no more.
    pub(super) fn end_runs(&mut self, end_ns: u64, step: &mut MachineStep) {
        let before = self.state.runs.len();
        let kind =
            |run: &QueryRun| self.graph.queries[run.query].trigger.as_ref().map(|trigger| trigger.kind);
        // One that goes on while a condition holds ends in the first window in which that does not.
        let goes_on = |run: &QueryRun| run.end_ns == end_ns && kind(run) == Some(TriggerKind::While);
        self.state.runs.retain(|run| run.end_ns > end_ns || goes_on(run));
        if self.state.runs.len() != before {
            step.is_quiet = false;
            self.state.forget_ended_runs();
        }
    }

    /// Ends the machine: no windows follow, and what is to run later does not.
    pub fn end(&mut self) -> MachineStep {
        let Self { graph, state, .. } = self;
        let mut step = MachineStep::default();
        let until_ns = state.until_ns.unwrap_or(0);
        for run in std::mem::take(&mut state.runs) {
            let query = &graph.queries[run.query];
            let end_ns = run.start_ns.saturating_add(query.over_ns);
            if end_ns <= until_ns {
                continue;
            }
            let window = window(query, end_ns);
            let nodes = query.nodes.iter().filter(|node| run.is_on(**node));
            step.events.extend(nodes.map(|node| missed(query, graph.node_name(*node), window, &run)));
        }
        step.add_titles();
        step
    }
}

/// Reports what a run found in the window that ends then.
fn report_run(graph: &Graph, run: &mut QueryRun, end_ns: u64, find: &Find<'_>, step: &mut MachineStep) {
    let query = &graph.queries[run.query];
    let Some(window) = run_window(query, run, end_ns) else { return };
    step.is_quiet = false;
    for &node in &query.nodes {
        if !run.is_on(node) {
            continue;
        }
        let seen = find(QueryWindow { query: run.query, node, instance: &run.instance, window });
        let text = crate::words::found(query, seen);
        let is_first = window.start_ns == run.start_ns;
        let is_missing = matches!(seen, ObservedWindow::Missing);
        let cause = run.cause.clone();
        let instance = run.instance.clone();
        let report = Report { cause, query: run.query, node, instance, window, is_first, is_missing, text };
        step.reports.push(report);
        if is_missing && !run.missing.contains(&node) {
            run.missing.push(node);
            step.events.push(missed(query, graph.node_name(node), window, run));
        }
    }
}

/// A window in which a query was to run on a node and did not.
fn missed(query: &GraphQuery, node: Option<&str>, window: Span, run: &QueryRun) -> Event {
    let event = plain_event(EventKind::Missed, query, node, window, &run.instance);
    let key = query.pinned_by(&run.instance);
    Event { parent: Some(run.cause.clone()), key, ..event }
}
