//! A naive event machine: it keeps all windows of each edge and counts them anew where a rule speaks of several.
//!
//! The rules leave these choices, in which it follows the machine:
//! - Values of events are those of the row; of a group without one they are what is known of it.
//! - Resolved and expired events show the columns of the condition, not those of `until`.
//! - Firings are ordered by the least value that is possible; what is no number counts as 0.
//! - A key that may fire again and about which a window decides nothing is idle, so that it does not expire later.
//! - An idle pinned key is not remembered; it comes after all known keys, and is judged also when no more can be remembered.
//! - What is due to a firing that was suppressed is due to the parent's run.
//! - A node whose answer has other columns than the query has not missed the window of a run.

use super::edge::Edge;
use super::known::Known;
use events::{Find, Graph, Key, Query, Seen, Trigger};
use report::{EventKind, Span};
use std::collections::{BTreeMap, BTreeSet};

/// An event. Others are named by their number: they are counted from the first step on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) kind: EventKind,
    pub(crate) query: usize,
    pub(crate) fired_by: Option<usize>,
    pub(crate) key: Key,
    pub(crate) node: usize,
    pub(crate) window: Span,
    pub(crate) values: Vec<Known>,
    pub(crate) parent: Option<usize>,
}

/// A query that runs because others fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) query: usize,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// The number of the event that names it.
    pub(crate) cause: usize,
    missed: BTreeSet<usize>,
}

/// What happens in one step.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) events: Vec<Told>,
    /// Runs that start or are extended, with the numbers of the events that start them.
    pub(crate) started: Vec<(Running, Vec<usize>)>,
    /// Windows of runs: the event that names the run, query, node and window.
    pub(crate) reports: Vec<(usize, usize, usize, Span)>,
}

/// What an edge is of: the query that it starts, the node, and the event that names the run of the parent.
pub(crate) type Of = (usize, usize, Option<usize>);

/// The machine.
pub(crate) struct Naive {
    graph: Graph,
    pub(crate) edges: BTreeMap<Of, Edge>,
    pub(crate) runs: Vec<Running>,
    events: usize,
}

impl Naive {
    pub(crate) fn new(graph: Graph) -> Self {
        Self { graph, edges: BTreeMap::new(), runs: Vec::new(), events: 0 }
    }

    /// Judges all windows that end at this time.
    pub(crate) fn step(&mut self, end_ns: u64, find: &Find<'_>) -> Taken {
        let mut taken = Taken::default();
        self.watch_runs(end_ns, find, &mut taken);
        for child in 0..self.graph.queries.len() {
            let Some(trigger) = self.graph.queries[child].trigger.clone() else { continue };
            let parent = self.graph.queries[trigger.parent].clone();
            let runs: Vec<Option<Running>> = match parent.trigger {
                None => vec![None],
                Some(_) => {
                    self.runs.iter().filter(|run| run.query == trigger.parent).cloned().map(Some).collect()
                }
            };
            let mut fired = Vec::new();
            for run in runs {
                if !end_ns.is_multiple_of(parent.every_ns) {
                    continue;
                }
                let window = Span { start_ns: end_ns - parent.over_ns, end_ns };
                if run.as_ref().is_some_and(|run| !run.has(window)) {
                    continue;
                }
                for node in &parent.nodes {
                    let seen = find(trigger.parent, *node, window);
                    let at = (child, *node, run.as_ref().map(|run| run.cause));
                    fired.extend(self.judge(at, &trigger, &parent, window, &seen, &mut taken));
                }
            }
            if !fired.is_empty() {
                let run = self.start(child, &trigger, end_ns, fired[0]);
                taken.started.push((run, fired));
            }
        }
        self.runs.retain(|run| run.end_ns > end_ns);
        let runs = &self.runs;
        self.edges.retain(|(_, _, of), _| of.is_none_or(|of| runs.iter().any(|run| run.cause == of)));
        taken
    }

    fn watch_runs(&mut self, end_ns: u64, find: &Find<'_>, taken: &mut Taken) {
        for run in &mut self.runs {
            let query = &self.graph.queries[run.query];
            let window = Span { start_ns: end_ns - query.over_ns, end_ns };
            if !end_ns.is_multiple_of(query.every_ns) || !run.has(window) {
                continue;
            }
            for node in &query.nodes {
                let seen = find(run.query, *node, window);
                taken.reports.push((run.cause, run.query, *node, window));
                if matches!(seen, Seen::Missing) && run.missed.insert(*node) {
                    taken.events.push(Told {
                        kind: EventKind::Missed,
                        query: run.query,
                        fired_by: None,
                        key: Key::new(),
                        node: *node,
                        window,
                        values: Vec::new(),
                        parent: Some(run.cause),
                    });
                    self.events += 1;
                }
            }
        }
    }

    /// Judges one window of an edge. Returns the numbers of the events that fired.
    fn judge(
        &mut self,
        at: Of,
        trigger: &Trigger,
        parent: &Query,
        window: Span,
        seen: &Seen<'_>,
        taken: &mut Taken,
    ) -> Vec<usize> {
        let settings = self.graph.settings;
        let (child, node, run) = at;
        let tell = |kind, key: &Key, values, parent| Told {
            kind,
            query: child,
            fired_by: Some(trigger.parent),
            key: key.clone(),
            node,
            window,
            values,
            parent,
        };
        let edge = self.edges.entry(at).or_default();
        let Some(changes) = edge.take(trigger, parent, &settings, window.end_ns, seen) else {
            if edge.missing() == 3 {
                taken.events.push(tell(EventKind::NoData, &Key::new(), Vec::new(), run));
                self.events += 1;
            }
            return Vec::new();
        };
        let (mut firings, others): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.kind == EventKind::Fired);
        for change in others {
            taken.events.push(tell(change.kind, &change.key, change.values, change.fired.or(run)));
            self.events += 1;
        }
        firings.sort_by(|a, b| b.size.total_cmp(&a.size).then_with(|| a.key.cmp(&b.key)));
        let mut fired = Vec::new();
        for (place, change) in firings.iter().enumerate() {
            let is_told = place < settings.most_firings;
            if is_told {
                taken.events.push(tell(EventKind::Fired, &change.key, change.values.clone(), run));
                fired.push(self.events);
                self.events += 1;
            }
            let cause = is_told.then(|| self.events - 1);
            edge.has_fired(&change.key, cause);
        }
        if firings.len() > settings.most_firings {
            let number = (firings.len() - settings.most_firings) as f64;
            let values = vec![Known::Within(number, number)];
            taken.events.push(tell(EventKind::Suppressed, &Key::new(), values, run));
            self.events += 1;
        }
        fired
    }

    fn start(&mut self, child: usize, trigger: &Trigger, end_ns: u64, cause: usize) -> Running {
        let query = &self.graph.queries[child];
        let mut start_ns = 0;
        while start_ns < end_ns + self.graph.settings.grace_ns + 1_000_000_000 {
            start_ns += query.every_ns;
        }
        let mut run_end_ns = start_ns + query.over_ns;
        let mut windows = 1;
        while windows * query.every_ns < trigger.run_ns {
            windows += 1;
            run_end_ns += query.every_ns;
        }
        if let Some(run) = self.runs.iter_mut().find(|run| run.query == child && run.end_ns > start_ns) {
            run.end_ns = run.end_ns.max(run_end_ns);
            return run.clone();
        }
        let missed = BTreeSet::new();
        self.runs.push(Running { query: child, start_ns, end_ns: run_end_ns, cause, missed });
        self.runs[self.runs.len() - 1].clone()
    }
}

impl Running {
    fn has(&self, window: Span) -> bool {
        window.start_ns >= self.start_ns && window.end_ns <= self.end_ns
    }
}
