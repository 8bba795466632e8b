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
//! - A query has started in time if it has since the first run of the chain began; once it has and no run of the chain is left, that is forgotten.
//! - More chains than keys are remembered for a query have no deadline.

use super::edge::{Edge, read};
use super::known::Known;
use events::{
    Binding, EvaluationPoint, EventKey, Find, Graph, ObservedWindow, QueryTrigger, QueryWindow, TriggerKind,
};
use model::{EventKind, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// An event. Others are named by their number: they are counted from the first step on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) kind: EventKind,
    pub(crate) query: usize,
    /// The queries whose answers are judged, or the one that a chain has reached.
    pub(crate) fired_by: Vec<usize>,
    pub(crate) key: EventKey,
    pub(crate) node: Option<usize>,
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
    pub(crate) instance: EventKey,
    pub(crate) node: Option<usize>,
    /// The first event of the chain, and when it was.
    pub(crate) root: (usize, u64),
    looks_back: bool,
    missed: BTreeSet<usize>,
}

/// What happens in one step.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) events: Vec<Told>,
    /// Runs that start or go on, with the numbers of the events that start them.
    pub(crate) started: Vec<(Running, Vec<usize>)>,
    /// Windows of runs: the event that names the run, query, node and window.
    pub(crate) reports: Vec<(usize, usize, usize, Span)>,
}

/// What an edge is of: the query that it starts, the place, and the events that name the runs of the sources.
pub(crate) type Of = (usize, usize, Vec<usize>);

/// A key that starts a query or lets it go on.
#[derive(Clone)]
struct Firing {
    event: usize,
    is_new: bool,
    instance: EventKey,
    node: Option<usize>,
    size: f64,
    /// The runs of the sources.
    runs: Vec<Running>,
}

/// A chain that must reach a query in time.
struct Chain {
    query: usize,
    /// The first event, and when it was.
    root: (usize, u64),
    /// The queries that were started, each with the event that did so.
    steps: Vec<(usize, usize)>,
    has_started: bool,
    is_over: bool,
}

/// The machine.
pub(crate) struct Naive {
    graph: Rc<Graph>,
    pub(crate) edges: BTreeMap<Of, Edge>,
    pub(crate) runs: Vec<Running>,
    /// Chains that must reach a query in time, all that ever began.
    chains: Vec<Chain>,
    events: usize,
}

impl Naive {
    pub(crate) fn new(graph: Graph) -> Self {
        Self {
            graph: Rc::new(graph),
            edges: BTreeMap::new(),
            runs: Vec::new(),
            chains: Vec::new(),
            events: 0,
        }
    }

    fn tell(&mut self, taken: &mut Taken, told: Told) -> usize {
        taken.events.push(told);
        self.events += 1;
        self.events - 1
    }

    /// Judges all windows that end at this time.
    pub(crate) fn step(&mut self, end_ns: u64, find: &Find<'_>) -> Taken {
        let mut taken = Taken::default();
        for run in 0..self.runs.len() {
            self.watch(run, end_ns, find, &mut taken);
        }
        for child in 0..self.graph.queries.len() {
            let Some(trigger) = self.graph.queries[child].trigger.clone() else { continue };
            let mut sets: Vec<Vec<Option<Running>>> = vec![Vec::new()];
            for source in &trigger.sources {
                let query = &self.graph.queries[source.query];
                let mut choices: Vec<Option<Running>> = Vec::new();
                match &query.trigger {
                    None => choices.extend(end_ns.is_multiple_of(query.every_ns).then_some(None)),
                    Some(_) => {
                        let of = self.runs.iter().filter(|run| run.query == source.query);
                        choices.extend(
                            of.filter(|run| run.window(&self.graph, end_ns).is_some()).cloned().map(Some),
                        );
                    }
                }
                let mut next = Vec::new();
                for set in &sets {
                    for choice in &choices {
                        let runs: Vec<&Running> = set.iter().chain([choice]).flatten().collect();
                        if !self.pin_the_same(&runs) {
                            continue;
                        }
                        next.push([set.clone(), vec![choice.clone()]].concat());
                    }
                }
                next.truncate(64);
                sets = next;
            }
            let mut firings = Vec::new();
            for set in sets {
                for (number, place) in trigger.places.iter().enumerate() {
                    let mut of = set.iter().zip(&place.of);
                    if of.any(|(run, node)| run.as_ref().is_some_and(|run| !run.is_on(*node))) {
                        continue;
                    }
                    let causes = set.iter().flatten().map(|run| run.cause).collect();
                    let at = (child, number, causes);
                    firings.extend(self.judge(at, &trigger, place, &set, end_ns, find, &mut taken));
                }
            }
            if !firings.is_empty() {
                self.start(child, &trigger, firings, end_ns, find, &mut taken);
            }
        }
        self.end_chains(end_ns, &mut taken);
        let graph = &self.graph;
        self.runs.retain(|run| {
            let kind = graph.queries[run.query].trigger.as_ref().map(|trigger| trigger.kind);
            run.end_ns > end_ns || kind == Some(TriggerKind::While) && run.end_ns == end_ns
        });
        self.forget();
        taken
    }

    /// No field has two values in what these runs pin.
    fn pin_the_same(&self, runs: &[&Running]) -> bool {
        let mut known: BTreeMap<&str, &events::Member> = BTreeMap::new();
        for run in runs {
            let trigger = self.graph.queries[run.query].trigger.as_ref().expect("it is started");
            let mut names = Vec::new();
            for binding in &trigger.bindings {
                if let Binding::Field { column, .. } = binding {
                    names.push(column.name.as_str());
                }
            }
            for (name, member) in names.into_iter().zip(&run.instance) {
                if known.insert(name, member).is_some_and(|other| other != member) {
                    return false;
                }
            }
        }
        true
    }

    fn forget(&mut self) {
        let runs = &self.runs;
        self.edges.retain(|(_, _, of), _| of.iter().all(|of| runs.iter().any(|run| run.cause == *of)));
        for chain in self.chains.iter_mut().filter(|chain| chain.has_started) {
            chain.is_over |= !runs.iter().any(|run| run.root.0 == chain.root.0);
        }
    }

    /// What a run has in the window that ends then.
    fn watch(&mut self, number: usize, end_ns: u64, find: &Find<'_>, taken: &mut Taken) {
        let run = self.runs[number].clone();
        let Some(window) = run.window(&self.graph, end_ns) else { return };
        let query = run.query;
        for node in self.graph.queries[query].nodes.clone() {
            if !run.is_on(node) {
                continue;
            }
            let seen = find(QueryWindow { query, node, instance: &run.instance, window });
            taken.reports.push((run.cause, query, node, window));
            if matches!(seen, ObservedWindow::Missing) && self.runs[number].missed.insert(node) {
                let told = Told {
                    kind: EventKind::Missed,
                    query,
                    fired_by: Vec::new(),
                    key: run.instance.clone(),
                    node: Some(node),
                    window,
                    values: Vec::new(),
                    parent: Some(run.cause),
                };
                self.tell(taken, told);
            }
        }
    }

    /// Judges one window of an edge. Returns what fires.
    #[expect(clippy::too_many_arguments, reason = "all of a window")]
    fn judge(
        &mut self,
        at: Of,
        trigger: &QueryTrigger,
        place: &EvaluationPoint,
        set: &[Option<Running>],
        end_ns: u64,
        find: &Find<'_>,
        taken: &mut Taken,
    ) -> Vec<Firing> {
        let graph = Rc::clone(&self.graph);
        let settings = graph.settings;
        let child = at.0;
        let window = |query: usize| Span { start_ns: end_ns - graph.queries[query].over_ns, end_ns };
        let mut seen = Vec::new();
        for ((source, node), run) in trigger.sources.iter().zip(&place.of).zip(set) {
            let instance = run.as_ref().map(|run| run.instance.clone()).unwrap_or_default();
            let asked = QueryWindow {
                query: source.query,
                node: *node,
                instance: &instance,
                window: window(source.query),
            };
            seen.push(find(asked));
        }
        let run = at.2.first().copied();
        let fired_by: Vec<usize> = trigger.sources.iter().map(|source| source.query).collect();
        let tell = |kind, key: &EventKey, values, parent| Told {
            kind,
            query: child,
            fired_by: fired_by.clone(),
            key: key.clone(),
            node: Some(place.node).filter(|node| *node != events::ALL_NODES),
            window: window(fired_by[0]),
            values,
            parent,
        };
        let mut edge = self.edges.remove(&at).unwrap_or_default();
        let instance =
            |run: &Option<Running>| run.as_ref().map(|run| run.instance.clone()).unwrap_or_default();
        let instances: Vec<EventKey> = set.iter().map(instance).collect();
        let changes = edge.take(trigger, &graph, end_ns, &seen, &instances);
        for source in read(&graph, trigger) {
            if edge.missing(source) == 3 {
                let told = Told {
                    fired_by: vec![fired_by[source]],
                    ..tell(EventKind::NoData, &EventKey::new(), Vec::new(), run)
                };
                self.tell(taken, told);
            }
        }
        let mut fired = Vec::new();
        let (mut firings, others): (Vec<_>, Vec<_>) =
            changes.into_iter().flatten().partition(|change| change.kind == Some(EventKind::Fired));
        let node = trigger.bindings.contains(&Binding::Node).then_some(place.node);
        let runs: Vec<Running> = set.iter().flatten().cloned().collect();
        for change in others {
            match change.kind {
                Some(kind) => {
                    self.tell(taken, tell(kind, &change.key, change.values, change.fired.or(run)));
                }
                None => {
                    let event = change.fired.expect("it has fired");
                    let (instance, size) = (change.instance, change.size);
                    fired.push(Firing { event, is_new: false, instance, node, size, runs: runs.clone() });
                }
            }
        }
        firings.sort_by(|a, b| b.size.total_cmp(&a.size).then_with(|| a.key.cmp(&b.key)));
        for (number, change) in firings.iter().enumerate() {
            let is_told = number < settings.most_firings;
            let cause = is_told
                .then(|| self.tell(taken, tell(EventKind::Fired, &change.key, change.values.clone(), run)));
            if let Some(event) = cause {
                let (instance, size) = (change.instance.clone(), change.size);
                fired.push(Firing { event, is_new: true, instance, node, size, runs: runs.clone() });
            }
            edge.has_fired(&change.key, cause);
        }
        if firings.len() > settings.most_firings {
            let number = (firings.len() - settings.most_firings) as f64;
            let values = vec![Known::Within(number, number)];
            self.tell(taken, tell(EventKind::Suppressed, &EventKey::new(), values, run));
        }
        self.edges.insert(at, edge);
        fired
    }

    fn start(
        &mut self,
        child: usize,
        trigger: &QueryTrigger,
        mut firings: Vec<Firing>,
        end_ns: u64,
        find: &Find<'_>,
        taken: &mut Taken,
    ) {
        for run in firings.iter().flat_map(|firing| &firing.runs) {
            let mut of_run =
                self.chains.iter_mut().filter(|chain| !chain.is_over && chain.root.0 == run.root.0);
            if let Some(chain) = of_run.find(|chain| chain.query == child) {
                chain.has_started = true;
            }
        }
        if trigger.bindings.is_empty() {
            self.run(child, trigger, &firings, end_ns, find, taken);
            return;
        }
        firings.sort_by(|a, b| b.size.total_cmp(&a.size));
        let mut left_out = Vec::new();
        for firing in firings {
            let runs = |runs: &[Running]| -> Vec<Running> {
                let is_on = |run: &&Running| run.query == child && (run.end_ns > end_ns || run.looks_back);
                runs.iter().filter(is_on).cloned().collect()
            };
            let runs = runs(&self.runs);
            let is_known = runs.iter().any(|run| run.instance == firing.instance && run.node == firing.node);
            if is_known || runs.len() < self.graph.settings.most_firings {
                self.run(child, trigger, &[firing], end_ns, find, taken);
            } else if firing.is_new {
                left_out.push(firing);
            }
        }
        if !left_out.is_empty() {
            let number = left_out.len() as f64;
            let told = Told {
                kind: EventKind::Suppressed,
                query: child,
                fired_by: Vec::new(),
                key: EventKey::new(),
                node: None,
                window: Span { start_ns: end_ns - self.graph.queries[child].over_ns, end_ns },
                values: vec![Known::Within(number, number)],
                parent: left_out[0].runs.first().map(|run| run.cause),
            };
            self.tell(taken, told);
        }
    }

    fn run(
        &mut self,
        child: usize,
        trigger: &QueryTrigger,
        firings: &[Firing],
        end_ns: u64,
        find: &Find<'_>,
        taken: &mut Taken,
    ) {
        let (first, query) = (&firings[0], &self.graph.queries[child]);
        let looks_back = trigger.in_same_window || trigger.kind == TriggerKind::While;
        let (mut start_ns, mut run_end_ns) = (end_ns - query.over_ns, end_ns);
        if !looks_back {
            start_ns = 0;
            while start_ns < end_ns + self.graph.settings.grace_ns + 1_000_000_000 {
                start_ns += query.every_ns;
            }
            run_end_ns = start_ns + query.over_ns;
            let mut windows = 1;
            while windows * query.every_ns < trigger.run_ns {
                windows += 1;
                run_end_ns += query.every_ns;
            }
        }
        let events: Vec<usize> =
            firings.iter().filter(|firing| firing.is_new).map(|firing| firing.event).collect();
        let own = |run: &Running| {
            run.query == child
                && (looks_back || run.end_ns > start_ns)
                && run.instance == first.instance
                && run.node == first.node
        };
        let known = self.runs.len();
        let number = self.runs.iter().position(own).unwrap_or_else(|| {
            let chain = first.runs.iter().map(|run| run.root).min_by_key(|(_, begun_ns)| *begun_ns);
            self.runs.push(Running {
                query: child,
                start_ns,
                end_ns: run_end_ns,
                cause: first.event,
                instance: first.instance.clone(),
                node: first.node,
                root: chain.unwrap_or((first.event, end_ns)),
                looks_back,
                missed: BTreeSet::new(),
            });
            self.runs.len() - 1
        });
        if self.runs.len() > known {
            self.begin(number);
        }
        self.runs[number].end_ns = self.runs[number].end_ns.max(run_end_ns);
        taken.started.push((self.runs[number].clone(), events));
        if looks_back {
            self.watch(number, end_ns, find, taken);
        }
    }

    /// All queries that must have answered before a query can start.
    fn ancestors(&self, query: usize) -> BTreeSet<usize> {
        let Some(trigger) = &self.graph.queries[query].trigger else { return BTreeSet::new() };
        let of = |source: &events::TriggerSource| {
            let mut with = self.ancestors(source.query);
            with.insert(source.query);
            with
        };
        trigger.sources.iter().flat_map(of).collect()
    }

    /// A run begins: a step of each chain that must reach a query in time.
    fn begin(&mut self, run: usize) {
        let Running { query: step, root, cause, .. } = self.runs[run].clone();
        for query in 0..self.graph.queries.len() {
            let is_timed =
                self.graph.queries[query].trigger.as_ref().is_some_and(|of| of.within_ns.is_some());
            if !is_timed || !self.ancestors(query).contains(&step) {
                continue;
            }
            let open = |chain: &Chain| chain.query == query && !chain.is_over;
            match self.chains.iter().position(|chain| open(chain) && chain.root.0 == root.0) {
                Some(chain) => self.chains[chain].steps.push((step, cause)),
                None if self.chains.iter().filter(|chain| open(chain)).count()
                    == self.graph.settings.most_keys => {}
                None => {
                    let steps = vec![(step, cause)];
                    self.chains.push(Chain { query, root, steps, has_started: false, is_over: false });
                }
            }
        }
    }

    /// Ends chains that have not reached a query in time.
    fn end_chains(&mut self, end_ns: u64, taken: &mut Taken) {
        for query in 0..self.graph.queries.len() {
            let within = self.graph.queries[query].trigger.as_ref().and_then(|trigger| trigger.within_ns);
            let Some(within_ns) = within else { continue };
            if !end_ns.is_multiple_of(self.graph.queries[query].every_ns) {
                continue;
            }
            let ancestors = self.ancestors(query);
            for number in 0..self.chains.len() {
                let chain = &mut self.chains[number];
                let is_late = chain.root.1 + within_ns <= end_ns;
                if chain.query != query || chain.is_over || chain.has_started || !is_late {
                    continue;
                }
                chain.is_over = true;
                let root = chain.root;
                let (reached, cause) = *chain.steps.iter().max_by_key(|(step, _)| step).expect("a step");
                let told = Told {
                    kind: EventKind::Timeout,
                    query,
                    fired_by: vec![reached],
                    key: EventKey::new(),
                    node: None,
                    window: Span { start_ns: end_ns - self.graph.queries[query].over_ns, end_ns },
                    values: vec![Known::Text(self.graph.queries[reached].name.clone())],
                    parent: Some(cause),
                };
                self.tell(taken, told);
                self.runs.retain(|run| run.root.0 != root.0 || !ancestors.contains(&run.query));
                self.forget();
            }
        }
    }
}

impl Running {
    fn is_on(&self, node: usize) -> bool {
        self.node.is_none_or(|own| own == node)
    }

    /// Its window that ends then.
    fn window(&self, graph: &Graph, end_ns: u64) -> Option<Span> {
        let query = &graph.queries[self.query];
        let window = Span { start_ns: end_ns.checked_sub(query.over_ns)?, end_ns };
        let is_in = match self.looks_back {
            true => end_ns == self.end_ns,
            false => window.start_ns >= self.start_ns && end_ns <= self.end_ns,
        };
        (is_in && end_ns.is_multiple_of(query.every_ns)).then_some(window)
    }
}
