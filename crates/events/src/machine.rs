//! Events of closed windows.

mod edges;
mod judging;

use crate::graph::{Graph, Query};
use crate::id::{About, identifier};
use crate::run::Run;
use crate::saved::Saved;
use crate::seen::{Find, Seen};
use crate::state::{Phase, State};
use report::{Event, EventKind, Span};

/// What happened in the windows that end at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Events, in order.
    pub events: Vec<Event>,
    /// What they started.
    pub started: Vec<Started>,
    /// What runs of triggered queries found, in order.
    pub reports: Vec<Report>,
    /// Another window of the same kind changes nothing before [`Machine::next_change`].
    pub is_quiet: bool,
}

/// A query that is started.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// Its run, which may have begun earlier and now ends later.
    pub run: Run,
    /// The events that started it, the first of which names the run if that is new.
    pub events: Vec<String>,
}

/// What a run of a triggered query found on one node in one window.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The event that started it.
    pub cause: String,
    /// The query, by number.
    pub query: usize,
    /// The node, by number.
    pub node: usize,
    /// The window.
    pub window: Span,
    /// It is the first one of the run.
    pub is_first: bool,
    /// There is no answer.
    pub is_missing: bool,
    /// In words.
    pub text: String,
}

/// Windows in a row that are missing before nothing is known of a node.
const MISSING: u64 = 3;

/// The machine.
#[derive(Clone, Debug)]
pub struct Machine {
    graph: Graph,
    state: State,
}

impl Machine {
    /// A machine that has seen no window.
    pub fn new(graph: Graph) -> Self {
        Self { graph, state: State::default() }
    }

    /// A machine that continues with what another one remembered of the queries and nodes that both have.
    pub fn restore(graph: Graph, saved: Saved) -> Self {
        let state = saved.into_state(&graph);
        Self { graph, state }
    }

    /// What it remembers, to be continued by another machine.
    pub fn save(&self) -> Saved {
        Saved::new(&self.graph, &self.state)
    }

    /// The queries.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All that it remembers.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Runs that have not ended.
    pub fn runs(&self) -> &[Run] {
        &self.state.runs
    }

    /// Takes all windows that end at this time, which is later than that of the step before.
    pub fn step(&mut self, end_ns: u64, find: &Find<'_>) -> Step {
        let mut step = Step { is_quiet: true, ..Step::default() };
        self.state.until_ns = Some(end_ns);
        self.report(end_ns, find, &mut step);
        for child in 0..self.graph.queries.len() {
            self.judge(child, end_ns, find, &mut step);
        }
        self.end_runs(end_ns, &mut step);
        step
    }

    /// What the runs of triggered queries found.
    fn report(&mut self, end_ns: u64, find: &Find<'_>, step: &mut Step) {
        let Self { graph, state } = self;
        for run in &mut state.runs {
            let query = &graph.queries[run.query];
            let Some(window) = run_window(query, run, end_ns) else { continue };
            step.is_quiet = false;
            for &node in &query.nodes {
                let seen = find(run.query, node, window);
                let text = crate::words::found(query, seen);
                let is_first = window.start_ns == run.start_ns;
                let is_missing = matches!(seen, Seen::Missing);
                let cause = run.cause.clone();
                let report = Report { cause, query: run.query, node, window, is_first, is_missing, text };
                step.reports.push(report);
                if is_missing && !run.missing.contains(&node) {
                    run.missing.push(node);
                    step.events.push(missed(query, graph.node_name(node), window, run));
                }
            }
        }
    }

    fn end_runs(&mut self, end_ns: u64, step: &mut Step) {
        let State { runs, edges, .. } = &mut self.state;
        let before = runs.len();
        runs.retain(|run| run.end_ns > end_ns);
        if runs.len() != before {
            step.is_quiet = false;
            edges.retain(|edge| {
                edge.run.as_ref().is_none_or(|cause| runs.iter().any(|run| run.cause == *cause))
            });
        }
    }

    /// Starts a query, or lets it run for longer where it runs already.
    fn start(&mut self, child: usize, end_ns: u64, events: Vec<String>, step: &mut Step) {
        let query = &self.graph.queries[child];
        let start_ns = query.first_start(end_ns, &self.graph.settings);
        let last_ns = query.last_end(start_ns);
        let runs = &mut self.state.runs;
        let at = runs.iter().position(|run| run.query == child && start_ns < run.end_ns);
        let at = at.unwrap_or_else(|| {
            let cause = events.first().cloned().unwrap_or_default();
            runs.push(Run { query: child, start_ns, end_ns: last_ns, cause, missing: Vec::new() });
            runs.len() - 1
        });
        runs[at].end_ns = runs[at].end_ns.max(last_ns);
        step.started.push(Started { run: runs[at].clone(), events });
    }

    /// No windows follow: what is to run later does not.
    pub fn end(&mut self) -> Step {
        let Self { graph, state } = self;
        let mut step = Step::default();
        let until_ns = state.until_ns.unwrap_or(0);
        for run in std::mem::take(&mut state.runs) {
            let query = &graph.queries[run.query];
            let end_ns = run.start_ns.saturating_add(query.over_ns);
            if end_ns <= until_ns {
                continue;
            }
            let window = window(query, end_ns);
            step.events
                .extend(query.nodes.iter().map(|node| missed(query, graph.node_name(*node), window, &run)));
        }
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
            let Some(trigger) = &self.graph.queries[edge.query].trigger else { continue };
            let parent = &self.graph.queries[trigger.parent];
            // Windows of others may have ended since.
            let Some(last_ns) = edge.last_end_ns else { continue };
            if !edge.is_settled {
                consider(now, parent.every_ns);
            }
            let expires = parent.every_ns.saturating_mul(self.graph.settings.expire_windows);
            for (key, progress) in &edge.keys {
                match progress.phase {
                    Phase::Pending { held_ns, is_true: true } => {
                        let left = trigger.hold_ns.saturating_sub(held_ns);
                        consider(last_ns.saturating_add(left), parent.every_ns);
                    }
                    Phase::Recovering { until_ns } => consider(until_ns, parent.every_ns),
                    _ => {}
                }
                if edge.missing == 0 && !parent.pinned.contains(key) {
                    let unseen = edge.watched_ns.saturating_sub(progress.seen_ns);
                    consider(last_ns.saturating_add(expires.saturating_sub(unseen)), parent.every_ns);
                }
            }
        }
        next
    }

    /// Queries and nodes (`None` for all together) some keys of which are not judged, as more are known than can be remembered, and
    /// how many.
    pub fn forgotten(&self) -> impl Iterator<Item = (&str, Option<&str>, u64)> {
        let Self { graph, state } = self;
        let edges = state.edges.iter().filter(|edge| edge.forgotten != 0);
        edges.map(|edge| (&*graph.queries[edge.query].name, graph.node_name(edge.node), edge.forgotten))
    }
}

/// The window of a run that ends then.
fn run_window(query: &Query, run: &Run, end_ns: u64) -> Option<Span> {
    let is_in = run.start_ns.saturating_add(query.over_ns) <= end_ns && end_ns <= run.end_ns;
    (is_in && query.ends_at(end_ns)).then(|| window(query, end_ns))
}

/// A query's window that ends then.
fn window(query: &Query, end_ns: u64) -> Span {
    Span { start_ns: end_ns.saturating_sub(query.over_ns), end_ns }
}

/// A window in which a query was to run on a node and did not.
fn missed(query: &Query, node: Option<&str>, window: Span, run: &Run) -> Event {
    let event = plain_event(EventKind::Missed, query, node, window);
    Event { parent: Some(run.cause.clone()), ..event }
}

/// An event of a query that is about no key.
fn plain_event(kind: EventKind, query: &Query, node: Option<&str>, window: Span) -> Event {
    let about = About { kind, query: &query.name, version: &query.text, key: &[], node, window };
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
        parent: None,
    }
}
