//! Events of closed windows.

mod chains;
mod edges;
mod judging;
mod runs;
mod sides;
mod told;
mod watch;

use crate::graph::{Graph, GraphQuery};
use crate::id::{About, identifier};
use crate::key::EventKey;
use crate::run::QueryRun;
use crate::saved::SavedMachine;
use crate::seen::Find;
use crate::state::{KeyPhase, MachineState};
use crate::undecided::Undecided;
use model::{Event, EventKind, Span};
use std::collections::BTreeMap;
use std::sync::Arc;
use watch::TriggerPlan;

/// The outcome of the windows that end at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineStep {
    /// Events, in order.
    pub events: Vec<Event>,
    /// The queries that the events started.
    pub started: Vec<Started>,
    /// Reports of what runs of triggered queries found, in order.
    pub reports: Vec<Report>,
    /// True if another window of the same kind changes nothing before [`Machine::next_change`].
    pub is_quiet: bool,
}

impl MachineStep {
    /// Gives events that are about no condition their titles.
    fn add_titles(&mut self) {
        for event in self.events.iter_mut().filter(|event| event.title.is_none()) {
            event.title = crate::title::of_trouble(event);
        }
    }
}

/// A query that is started.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// The run of the query, which may have begun earlier and now ends later.
    pub run: QueryRun,
    /// The events that started it, the first of which names the run if that is new.
    pub events: Vec<String>,
}

/// A report of what a run of a triggered query found on one node in one window.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The event that started it.
    pub cause: String,
    /// The query, by number.
    pub query: usize,
    /// The node, by number.
    pub node: usize,
    /// The values that the run's firing pinned.
    pub instance: EventKey,
    /// The window.
    pub window: Span,
    /// True if the window is the first one of the run.
    pub is_first: bool,
    /// True if there is no answer.
    pub is_missing: bool,
    /// The report in words.
    pub text: String,
}

/// Windows in a row that are missing before nothing is known of a node.
const MISSING: u64 = 3;

/// The machine.
#[derive(Clone, Debug)]
pub struct Machine {
    graph: Arc<Graph>,
    /// The watches of the queries' triggers, by query.
    watches: Arc<[Option<TriggerPlan>]>,
    state: MachineState,
    /// Windows that did not decide the condition of a query that is started, by query. Another machine that continues begins anew.
    undecided: BTreeMap<usize, Undecided>,
}

impl Machine {
    /// A machine that has seen no window.
    pub fn new(graph: Graph) -> Self {
        Self::with_state(graph, MachineState::default())
    }

    /// A machine that continues with what another one remembered of the queries and nodes that both have.
    pub fn restore(graph: Graph, saved: SavedMachine) -> Self {
        let state = saved.into_state(&graph);
        Self::with_state(graph, state)
    }

    fn with_state(graph: Graph, state: MachineState) -> Self {
        let watch =
            |query: &GraphQuery| query.trigger.as_ref().map(|trigger| TriggerPlan::new(&graph, trigger));
        let watches = graph.queries.iter().map(watch).collect();
        Self { watches, state, graph: Arc::new(graph), undecided: BTreeMap::new() }
    }

    /// Returns what the machine remembers, to be continued by another machine.
    pub fn save(&self) -> SavedMachine {
        SavedMachine::new(&self.graph, &self.state)
    }

    /// The queries.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns all that the machine remembers.
    pub fn state(&self) -> &MachineState {
        &self.state
    }

    /// Runs that have not ended.
    pub fn runs(&self) -> &[QueryRun] {
        &self.state.runs
    }

    /// Takes all windows that end at this time, which is later than that of the step before.
    pub fn step(&mut self, end_ns: u64, find: &Find<'_>) -> MachineStep {
        let mut step = MachineStep { is_quiet: true, ..MachineStep::default() };
        self.state.until_ns = Some(end_ns);
        self.report(end_ns, find, &mut step);
        for child in 0..self.graph.queries.len() {
            self.judge(child, end_ns, find, &mut step);
        }
        self.end_chains(end_ns, &mut step);
        self.end_runs(end_ns, &mut step);
        step.add_titles();
        step
    }

    /// The next time at which windows like the last ones change anything, if they do. `since_ns`: the begin of the first such window.
    pub fn next_change(&self, since_ns: u64) -> Option<u64> {
        let now = self.state.until_ns?;
        let mut next: Option<u64> = None;
        let mut consider = |time_ns: u64, every_ns: u64| {
            let time = time_ns.max(now.saturating_add(1)).checked_next_multiple_of(every_ns);
            next = next.into_iter().chain(time).min();
        };
        for query in self.graph.queries.iter().filter(|query| query.trigger.is_none()) {
            // The first window that has nothing of the time before.
            let whole = since_ns.saturating_add(query.over_ns).saturating_add(query.every_ns);
            if now < whole {
                consider(now, query.every_ns);
            }
        }
        for run in &self.state.runs {
            let query = &self.graph.queries[run.query];
            consider(run.start_ns.saturating_add(query.over_ns), query.every_ns);
        }
        for edge in &self.state.edges {
            let (Some(trigger), Some(watch)) =
                (&self.graph.queries[edge.query].trigger, &self.watches[edge.query])
            else {
                continue;
            };
            // Windows of others may have ended since.
            let Some(last_ns) = edge.last_end_ns else { continue };
            if !edge.is_settled {
                consider(now, watch.every_ns);
            }
            let expires = watch.every_ns.saturating_mul(self.graph.settings.expire_windows);
            for (key, progress) in &edge.keys {
                match progress.phase {
                    KeyPhase::Pending { held_ns, is_true: true } => {
                        let left = trigger.hold_ns.saturating_sub(held_ns);
                        consider(last_ns.saturating_add(left), watch.every_ns);
                    }
                    KeyPhase::Recovering { until_ns, held_ns, is_true } => {
                        consider(until_ns, watch.every_ns);
                        if is_true {
                            let left = trigger.hold_ns.saturating_sub(held_ns);
                            consider(until_ns.max(last_ns.saturating_add(left)), watch.every_ns);
                        }
                    }
                    _ => {}
                }
                if watch.sees(edge) && !watch.pinned.contains(key) {
                    let unseen = edge.watched_ns.saturating_sub(progress.seen_ns);
                    consider(last_ns.saturating_add(expires.saturating_sub(unseen)), watch.every_ns);
                }
            }
        }
        for chain in self.state.chains.iter().filter(|chain| !chain.has_started) {
            consider(chain.deadline_ns, self.graph.queries[chain.query].every_ns);
        }
        next
    }

    /// Queries and nodes (`None` for all together) some keys of which are not judged, as more are known than can be remembered, and
    /// how many.
    pub fn forgotten(&self) -> impl Iterator<Item = (&str, Option<&str>, u64)> {
        let Self { graph, state, .. } = self;
        let edges = state.edges.iter().filter(|edge| edge.forgotten != 0);
        edges.map(|edge| (&*graph.queries[edge.query].name, graph.node_name(edge.place.node), edge.forgotten))
    }

    /// Queries whose conditions some windows did not decide, with the condition's text.
    pub fn undecided(&self) -> impl Iterator<Item = (&str, &str, &Undecided)> {
        self.undecided.iter().filter_map(|(query, undecided)| {
            let query = &self.graph.queries[*query];
            Some((&*query.name, &*query.trigger.as_ref()?.text, undecided))
        })
    }

    /// Queries that must be reached in time, and how many chains are not ended if they do not, as more are followed than can be remembered.
    pub fn unfollowed(&self) -> impl Iterator<Item = (&str, u64)> {
        let Self { graph, state, .. } = self;
        state.unfollowed.iter().map(|(query, chains)| (&*graph.queries[*query].name, *chains))
    }
}

/// A query's window that ends then.
fn window(query: &GraphQuery, end_ns: u64) -> Span {
    Span { start_ns: end_ns.saturating_sub(query.over_ns), end_ns }
}

/// An event of a query that is about no group. `apart`: what tells it from others of its kind, query, node and window.
fn plain_event(
    kind: EventKind,
    query: &GraphQuery,
    node: Option<&str>,
    window: Span,
    apart: &EventKey,
) -> Event {
    let about = About { kind, query: &query.name, version: &query.text, key: apart, node, window };
    Event {
        event: identifier(&about),
        kind,
        query: query.name.clone(),
        fired_by: None,
        key: Vec::new(),
        node: node.map(str::to_owned),
        at_ns: window.end_ns,
        window: Some(window),
        values: Vec::new(),
        threshold: None,
        late: false,
        coverage: None,
        bounds: None,
        parent: None,
        title: None,
    }
}
