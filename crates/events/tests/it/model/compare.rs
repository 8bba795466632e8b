//! Both machines over one history.

use super::edge::Phase;
use super::known::Known;
use super::naive::{Naive, Of, Running, Taken, Told};
use super::windows::{History, Windows};
use events::{EdgeState, EventKey, Find, Graph, KeyProgress, Machine, MachineStep, Member, QueryRun};
use model::Event;
use std::collections::{BTreeMap, HashMap};

/// Both machines, and what they call the same event.
pub(crate) struct Pair {
    pub(crate) machine: Machine,
    naive: Naive,
    graph: Graph,
    numbers: HashMap<String, usize>,
    titles: HashMap<String, String>,
}

impl Pair {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self {
            machine: Machine::new(graph.clone()),
            naive: Naive::new(graph.clone()),
            graph: graph.clone(),
            numbers: HashMap::new(),
            titles: HashMap::new(),
        }
    }

    /// Takes a step of both.
    ///
    /// # Errors
    /// If they do not agree.
    pub(crate) fn step(&mut self, windows: &Windows<'_>, end_ns: u64) -> Result<MachineStep, String> {
        let find: &Find<'_> = &|asked| windows.find(asked);
        let step = self.machine.step(end_ns, find);
        let taken = self.naive.step(end_ns, find);
        self.compare(&step, &taken).map(|()| step).map_err(|error| format!("the step to {end_ns}: {error}"))
    }

    fn compare(&mut self, step: &MachineStep, taken: &Taken) -> Result<(), String> {
        for event in &step.events {
            if let Some(item) =
                event.key.iter().chain(&event.values).find(|it| !it.value.fits(it.column.kind))
            {
                return Err(format!("{item:?} is not of its column's kind"));
            }
            let number = self.numbers.len();
            if self.numbers.insert(event.event.clone(), number).is_some() {
                return Err(format!("two events are called {}", event.event));
            }
        }
        for event in &step.events {
            let title = event.title.clone().ok_or_else(|| format!("no title: {event:?}"))?;
            let ends = matches!(event.kind, model::EventKind::Resolved | model::EventKind::Expired);
            let fired = event.parent.as_ref().and_then(|parent| self.titles.get(parent));
            if ends && fired != Some(&title) {
                return Err(format!("the title of {event:?} is not that of its firing, {fired:?}"));
            }
            self.titles.insert(event.event.clone(), title);
        }
        let told: Vec<_> = step.events.iter().map(|event| self.told(event)).collect();
        same("events", &told, &taken.events.iter().map(|told| Ok(told.clone())).collect::<Vec<_>>())?;
        let started: Vec<_> = step
            .started
            .iter()
            .map(|started| {
                let events: Vec<_> = started.events.iter().map(|event| self.numbers[event]).collect();
                (self.run(&started.run), events)
            })
            .collect();
        let naive: Vec<_> = taken.started.iter().map(|(run, events)| (of_run(run), events.clone())).collect();
        same("what starts", &started, &naive)?;
        let reports: Vec<_> = step
            .reports
            .iter()
            .map(|report| (self.numbers[&report.cause], report.query, report.node, report.window))
            .collect();
        same("reports", &reports, &taken.reports)?;
        let runs: Vec<_> = self.machine.runs().iter().map(|run| self.run(run)).collect();
        same("runs", &runs, &self.naive.runs.iter().map(of_run).collect::<Vec<_>>())?;
        let edges: BTreeMap<_, _> = self.machine.state().edges.iter().map(|edge| self.edge(edge)).collect();
        let naive = self.naive.edges.iter().map(|(of, edge)| (of.clone(), edge.remembered()));
        same("keys", &edges.into_iter().collect::<Vec<_>>(), &naive.collect::<Vec<_>>())
    }

    /// An event of the machine as the naive one tells it.
    fn told(&self, event: &Event) -> Result<Told, String> {
        let query = |name: &str| self.graph.queries.iter().position(|query| query.name == name);
        let node = |name: &str| self.graph.nodes.iter().position(|node| node == name);
        let numbered = |event: &String| self.numbers.get(event).copied();
        Ok(Told {
            kind: event.kind,
            query: query(&event.query).ok_or("its query is unknown")?,
            fired_by: event
                .fired_by
                .iter()
                .flat_map(|names| names.split(", "))
                .map(|name| query(name).ok_or("its parent is unknown"))
                .collect::<Result<_, _>>()?,
            key: event.key.iter().map(|item| Member::from(&item.value)).collect(),
            node: event.node.as_deref().map(|name| node(name).ok_or("its node is unknown")).transpose()?,
            window: event.window.ok_or("it has no window")?,
            values: event.values.iter().map(|item| Known::from(&item.value)).collect(),
            parent: event
                .parent
                .as_ref()
                .map(|parent| numbered(parent).ok_or("its parent is untold"))
                .transpose()?,
        })
    }

    /// An edge, and the keys that it remembers.
    fn edge<'a>(&self, edge: &'a EdgeState) -> (Of, Vec<(&'a EventKey, Phase)>) {
        let phase = |progress: &KeyProgress| match progress.phase {
            events::KeyPhase::Idle => Phase::Idle,
            events::KeyPhase::Pending { held_ns, .. } => Phase::Pending { held_ns },
            events::KeyPhase::Active { fired_ns } => Phase::Active { fired_ns },
            events::KeyPhase::Recovering { until_ns, held_ns, .. } => Phase::Recovering { until_ns, held_ns },
        };
        let places = &self.graph.queries[edge.query].trigger.as_ref().expect("it has one").places;
        let place = places.iter().position(|place| *place == edge.place).expect("a place of the query");
        let of = (edge.query, place, edge.runs.iter().map(|cause| self.numbers[cause]).collect());
        (of, edge.keys.iter().map(|(key, progress)| (key, phase(progress))).collect())
    }

    fn run(&self, run: &QueryRun) -> OfRun {
        let (cause, root) = (self.numbers[&run.cause], self.numbers[&run.root]);
        (run.query, run.start_ns, run.end_ns, cause, run.instance.clone(), run.node, (root, run.begun_ns))
    }
}

/// Query, begin, end, cause, instance, node and chain of a run.
type OfRun = (usize, u64, u64, usize, EventKey, Option<usize>, (usize, u64));

fn of_run(run: &Running) -> OfRun {
    (run.query, run.start_ns, run.end_ns, run.cause, run.instance.clone(), run.node, run.root)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, machine: &[T], naive: &[T]) -> Result<(), String> {
    if machine == naive {
        return Ok(());
    }
    let at = machine.iter().zip(naive).take_while(|(a, b)| a == b).count();
    let (machine, naive) = (machine.get(at), naive.get(at));
    Err(format!("{what} differ at {at}\n machine: {machine:?}\n naive:   {naive:?}"))
}

/// Runs both over a history; `each` sees each step.
///
/// # Errors
/// If they do not agree.
pub(crate) fn agree(history: &History, mut each: impl FnMut(&MachineStep)) -> Result<(), String> {
    let mut pair = Pair::new(&history.graph);
    for end_ns in history.ends() {
        each(&pair.step(&history.windows(end_ns), end_ns)?);
    }
    Ok(())
}
