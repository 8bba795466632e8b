//! The conditions of one query, judged for each key of its sources' answers.

use super::edges::{SourceRuns, pass_time};
use super::runs::Firing;
use super::sides::{JoinedGroup, SourceAnswers};
use super::told::{EdgeContext, Happened};
use super::watch::TriggerPlan;
use super::{MISSING, Machine, MachineStep, plain_event, window};
use crate::condition::{GroupFigures, TriggerCondition};
use crate::figure::{BoundedValue, Certainty, ColumnRole};
use crate::graph::{Binding, Graph, QueryTrigger, TriggerKind};
use crate::judged::{Judged, PhaseChange, WindowTime};
use crate::key::{EventKey, Member};
use crate::seen::{Find, ObservedWindow, QueryWindow};
use crate::state::{EdgeState, KeyPhase, KeyProgress};
use crate::truth::TruthValue;
use crate::undecided::Why;
use model::{Event, EventKind, Span, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

/// An edge and a window of it.
struct Judging<'a> {
    graph: &'a Graph,
    trigger: &'a QueryTrigger,
    watch: &'a TriggerPlan,
    sides: &'a SourceAnswers<'a>,
    /// The groups that have a row.
    groups: &'a [JoinedGroup<'a>],
    /// The key that the runs of the sources pin.
    pinned: Option<EventKey>,
    edge: &'a mut EdgeState,
    time: WindowTime,
    happened: Vec<Happened>,
    /// The phase of a key changed.
    changed: bool,
    /// Keys for which a condition with `while` holds.
    holding: Vec<Happened>,
    /// The condition was unknown for a key.
    is_undecided: bool,
}

impl Machine {
    /// Judges the windows of a query's sources that end then.
    pub(super) fn judge(&mut self, child: usize, end_ns: u64, find: &Find<'_>, step: &mut MachineStep) {
        let Some(trigger) = &self.graph.queries[child].trigger else { return };
        let sources: Vec<usize> = trigger.sources.iter().map(|source| source.query).collect();
        let places = trigger.places.clone();
        let mut firings = Vec::new();
        // By node: runs of a source may have several answers of one window.
        let mut whys: BTreeMap<usize, Why> = BTreeMap::new();
        let (sets, mut left_out) = self.sets(&sources, end_ns);
        for runs in sets {
            let runs = Rc::new(runs);
            for place in &places {
                let is_on = |(run, node): (&Option<_>, &usize)| {
                    run.as_ref().is_none_or(|run: &crate::run::QueryRun| run.is_on(*node))
                };
                if !runs.of.iter().zip(&place.of).all(is_on) {
                    continue;
                }
                let number = self.edge(child, place, &runs.causes());
                let Self { graph, watches, state, .. } = self;
                let (Some(watch), Some(trigger)) = (&watches[child], &graph.queries[child].trigger) else {
                    return;
                };
                let window = window(&graph.queries[sources[0]], end_ns);
                let seen = |(at, source): (usize, &crate::graph::TriggerSource)| {
                    let query = &graph.queries[source.query];
                    let instance: &[Member] = runs.of[at].as_ref().map_or(&[], |run| &run.instance);
                    let window = super::window(query, end_ns);
                    find(QueryWindow { query: source.query, node: place.of[at], instance, window })
                };
                let seen: Vec<ObservedWindow<'_>> = trigger.sources.iter().enumerate().map(seen).collect();
                let before = step.events.len();
                let edge = &mut state.edges[number];
                edge.forgotten += std::mem::take(&mut left_out) as u64;
                let of = JudgedEdge { graph, trigger, watch, window };
                let (fired, why) = of.judge(edge, &runs, &seen, &mut step.events);
                firings.extend(fired);
                if let Some(why) = why {
                    let known = whys.entry(place.node).or_insert(why);
                    *known = why.min(*known);
                }
                step.is_quiet &= edge.is_settled && step.events.len() == before;
            }
        }
        for why in whys.into_values() {
            self.undecided.entry(child).or_default().add(why);
        }
        if !firings.is_empty() {
            self.start(child, end_ns, firings, find, step);
        }
    }
}

/// The data by which an edge is judged.
struct JudgedEdge<'a> {
    graph: &'a Graph,
    trigger: &'a QueryTrigger,
    watch: &'a TriggerPlan,
    window: Span,
}

impl JudgedEdge<'_> {
    /// Judges a window of one edge, and adds its events. Returns what starts the query, and why the window does not decide the condition
    /// for all keys, if it does not.
    fn judge(
        &self,
        edge: &mut EdgeState,
        runs: &Rc<SourceRuns>,
        seen: &[ObservedWindow<'_>],
        events: &mut Vec<Event>,
    ) -> (Vec<Firing>, Option<Why>) {
        let Self { graph, trigger, watch, window } = *self;
        let time = pass_time(edge, watch, window.end_ns);
        let sides = SourceAnswers::new(graph, trigger, seen);
        self.count_missing(edge, runs, sides.missing(), events);
        if watch.sees(edge) {
            edge.watched_ns += time.length_ns;
        }
        let is_long = |missing: &u64| *missing == 0 || *missing > MISSING;
        edge.is_settled = edge.missing.iter().all(is_long);
        let read = || watch.reads.iter().zip(sides.missing()).filter(|(is_read, _)| **is_read);
        let knows_nothing = read().next().is_some() && read().all(|(_, is_missing)| *is_missing);
        if knows_nothing && !watch.asks_missing {
            edge.keys.values_mut().for_each(|progress| progress.phase.wait(time));
            return (Vec::new(), Some(Why::Missing));
        }
        let groups = sides.groups();
        let mut judging = Judging {
            graph,
            trigger,
            watch,
            sides: &sides,
            groups: &groups,
            pinned: runs.pinned(graph, trigger),
            edge,
            time,
            happened: Vec::new(),
            changed: false,
            holding: Vec::new(),
            is_undecided: false,
        };
        judging.judge_all();
        let Judging { happened, holding, changed, edge, is_undecided, .. } = judging;
        edge.is_settled &= !changed;
        let told = EdgeContext {
            graph,
            query: edge.query,
            trigger,
            watch,
            window,
            sides: &sides,
            groups: &groups,
            coverage: sides.coverage(),
            bounds: sides.bounds(),
        };
        let why = is_undecided.then(|| sides.why());
        (told.add_events(happened, holding, edge, runs, events), why)
    }

    /// Counts windows that are missing, and says when nothing has been known of a source for long.
    fn count_missing(
        &self,
        edge: &mut EdgeState,
        runs: &SourceRuns,
        missing: &[bool],
        events: &mut Vec<Event>,
    ) {
        let Self { graph, trigger, watch, window } = *self;
        for (at, is_missing) in missing.iter().enumerate() {
            edge.missing[at] = if *is_missing { edge.missing[at] + 1 } else { 0 };
            if edge.missing[at] != MISSING || !watch.reads[at] {
                continue;
            }
            let source = &graph.queries[trigger.sources[at].query].name;
            let apart = match trigger.sources.len() {
                1 => EventKey::new(),
                _ => vec![Member::Text(source.clone())],
            };
            let apart = [apart, runs.instances()].concat();
            let node = graph.node_name(edge.place.node);
            let child = &graph.queries[edge.query];
            let mut event = plain_event(EventKind::NoData, child, node, window, &apart);
            event.fired_by = Some(source.clone());
            event.parent = edge.runs.first().cloned();
            events.push(event);
        }
    }
}

impl KeyPhase {
    /// A window of which nothing is known.
    fn wait(&mut self, time: WindowTime) {
        if let Self::Pending { held_ns, is_true } | Self::Recovering { held_ns, is_true, .. } = self {
            *held_ns += if *is_true { time.skipped_ns } else { 0 };
            *is_true = false;
        }
    }
}

impl Judging<'_> {
    /// Judges the groups of the answers, then the keys that are known and have none.
    fn judge_all(&mut self) {
        let groups = self.groups;
        groups.iter().enumerate().for_each(|(at, group)| self.key(group, Some(at)));
        if self.edge.keys.is_empty() && self.watch.pinned.is_empty() && self.pinned.is_none() {
            return;
        }
        let with_rows: HashSet<&EventKey> = groups.iter().map(|group| &group.key).collect();
        let pinned: BTreeSet<&EventKey> = self.watch.pinned.iter().chain(&self.pinned).collect();
        let pinned = pinned.into_iter().filter(|key| !self.edge.keys.contains_key(*key));
        let absent = self.edge.keys.keys().chain(pinned).filter(|key| !with_rows.contains(*key));
        for key in absent.cloned().collect::<Vec<_>>() {
            self.key(&self.sides.absent(key), None);
        }
    }

    /// Judges a key. `row`: the number of its group, if that has a row.
    fn key(&mut self, group: &JoinedGroup<'_>, row: Option<usize>) {
        let (own, rearms) = self.judged(group);
        self.is_undecided |= own == TruthValue::Unknown;
        let Self { trigger, time, watch, .. } = *self;
        let settings = &self.graph.settings;
        let key = &group.key;
        let known = self.edge.keys.get(key);
        let is_pinned = watch.pinned.contains(key) || self.pinned.as_ref() == Some(key);
        if known.is_none() && !is_pinned && self.edge.keys.len() >= settings.most_keys {
            self.edge.forgotten += 1;
            return;
        }
        let before = known.map_or(KeyPhase::Idle, |progress| progress.phase);
        let seen_ns = match known {
            Some(progress) if row.is_none() => progress.seen_ns,
            _ => self.edge.watched_ns,
        };
        let unseen_ns = self.edge.watched_ns - seen_ns;
        let (phase, change) = before.after(Judged { truth: own, rearms }, time, trigger);
        self.changed |= change.is_some() || is_other(before, phase);
        let expires = watch.every_ns.saturating_mul(settings.expire_windows);
        let is_expired = !is_pinned && unseen_ns >= expires && change != Some(PhaseChange::Fired);
        let kind = match change {
            Some(PhaseChange::Fired) => Some(EventKind::Fired),
            // Each firing stands for itself.
            Some(PhaseChange::Resolved) if trigger.kind == TriggerKind::Each => None,
            Some(PhaseChange::Resolved) => Some(EventKind::Resolved),
            None if is_expired && phase != KeyPhase::Idle => Some(EventKind::Expired),
            None => None,
        };
        let fired = known.and_then(|progress| Some((progress.fired.clone()?, progress.title.clone())));
        // The end of a firing that was suppressed is suppressed too.
        if let Some(kind) = kind.filter(|kind| *kind == EventKind::Fired || fired.is_some()) {
            let happened = self.happened(kind, (group, row), fired.clone());
            self.happened.push(happened);
        } else if trigger.kind == TriggerKind::While && own == TruthValue::True && fired.is_some() {
            let holding = self.happened(EventKind::Fired, (group, row), fired.clone());
            self.holding.push(holding);
            self.changed = true;
        }
        // An idle key is worth remembering only if it would fire without packets.
        let is_kept = phase != KeyPhase::Idle
            || !is_pinned && watch.without_packets(self.graph, trigger, key) == TruthValue::True;
        if !is_kept || is_expired {
            self.changed |= self.edge.keys.remove(key).is_some();
        } else if let Some(progress) = self.edge.keys.get_mut(key) {
            (progress.phase, progress.seen_ns) = (phase, seen_ns);
            // A firing that is suppressed has no event: the one before is not what a later event is due to.
            if change == Some(PhaseChange::Fired) {
                (progress.fired, progress.title) = (None, None);
            }
        } else {
            self.edge.keys.insert(key.clone(), KeyProgress { phase, seen_ns, fired: None, title: None });
        }
    }

    /// Returns whether the condition holds, and whether the key is re-armed.
    fn judged(&self, group: &JoinedGroup<'_>) -> (TruthValue, TruthValue) {
        let figures = self.sides.figures(group, false);
        let widened = if self.watch.widens { self.sides.figures(group, true) } else { Vec::new() };
        let known = GroupFigures { figures: &figures, widened: &widened, missing: self.sides.missing() };
        let own = self.trigger.condition.holds(known);
        let until = self.trigger.until.as_ref().map(|until: &TriggerCondition| until.holds(known));
        (own, until.unwrap_or_else(|| own.negated()))
    }

    /// `row`: the number of the group, if it has a row. `fired`: the event that fired before, and its title.
    fn happened(
        &self,
        kind: EventKind,
        (group, row): (&JoinedGroup<'_>, Option<usize>),
        fired: Option<(String, Option<String>)>,
    ) -> Happened {
        let Self { sides, watch, trigger, .. } = *self;
        let values = sides.values(group, watch, &watch.items);
        let is_fired = kind == EventKind::Fired;
        let (fired, title) = fired.unzip();
        let bound = |binding: &Binding| match binding {
            Binding::Field { item, .. } => Some(sides.member(group, watch, *item)),
            Binding::Node => None,
        };
        Happened {
            kind,
            key: group.key.clone(),
            size: if is_fired { size(&values) } else { 0.0 },
            instance: trigger.bindings.iter().filter_map(bound).collect(),
            row,
            title: title.flatten(),
            values,
            fired,
        }
    }
}

/// Returns the size of a group, by the first value of the condition.
fn size(values: &[Value]) -> f64 {
    match values.first().map(|value| BoundedValue::from_value(value, ColumnRole::Total, Certainty::Whole)) {
        Some(BoundedValue::Number(interval)) => interval.lower,
        _ => 0.0,
    }
}

/// Returns true if two phases differ in more than the time that passes.
fn is_other(before: KeyPhase, after: KeyPhase) -> bool {
    match (before, after) {
        (KeyPhase::Pending { is_true: before, .. }, KeyPhase::Pending { is_true: after, .. })
        | (KeyPhase::Recovering { is_true: before, .. }, KeyPhase::Recovering { is_true: after, .. }) => {
            before != after
        }
        (before, after) => before != after,
    }
}
