//! The conditions of one query, judged for each key of its parent's answers.

use super::{MISSING, Machine, Step, plain_event, run_window, window};
use crate::figure::{Certainty, Figure, Role};
use crate::graph::{Graph, Query, Settings, Trigger};
use crate::id::{About, identifier};
use crate::judged::{Change, Judged, Time};
use crate::key::{Key, items};
use crate::rows::{Rows, without_packets};
use crate::seen::{Find, Seen};
use crate::state::{Edge, Phase, Progress};
use crate::truth::Truth;
use report::{Column, ColumnKind, Event, EventKind, Item, Span, Value};
use std::collections::BTreeSet;

/// What happened to a key.
struct Happened {
    kind: EventKind,
    key: Key,
    values: Vec<Value>,
    /// Of what fired, the value by which the largest is first.
    size: f64,
    /// The event that fired before.
    fired: Option<String>,
}

impl Happened {
    fn has_fired(&self) -> bool {
        self.kind == EventKind::Fired
    }
}

/// An edge and a window of it.
struct Judging<'a> {
    parent: &'a Query,
    trigger: &'a Trigger,
    settings: &'a Settings,
    edge: &'a mut Edge,
    time: Time,
    /// The columns that the condition reads.
    items: Vec<usize>,
    /// Whether a key without packets fulfils the condition, if that is the same for all keys.
    without_packets: Option<Truth>,
    happened: Vec<Happened>,
    /// The phase of a key changed.
    changed: bool,
}

impl Machine {
    /// Judges the windows of a query's parent that end then.
    pub(super) fn judge(&mut self, child: usize, end_ns: u64, find: &Find<'_>, step: &mut Step) {
        let Some(trigger) = &self.graph.queries[child].trigger else { return };
        let parent = &self.graph.queries[trigger.parent];
        let runs: Vec<(Option<String>, Span)> = match &parent.trigger {
            None if parent.ends_at(end_ns) => vec![(None, window(parent, end_ns))],
            None => Vec::new(),
            Some(_) => {
                let runs = self.state.runs.iter().filter(|run| run.query == trigger.parent);
                runs.filter_map(|run| Some((Some(run.cause.clone()), run_window(parent, run, end_ns)?)))
                    .collect()
            }
        };
        let (nodes, asked) = (parent.nodes.clone(), trigger.parent);
        let mut fired = Vec::new();
        for (run, window) in &runs {
            for &node in &nodes {
                let edge = self.edge(child, node, run.as_deref());
                let edge = &mut self.state.edges[edge];
                let before = step.events.len();
                judge_edge(&self.graph, edge, *window, find(asked, node, *window), &mut step.events);
                let events = &step.events[before..];
                let causes = events.iter().filter(|event| event.kind == EventKind::Fired);
                fired.extend(causes.map(|event| event.event.clone()));
                step.is_quiet &= edge.is_settled && events.is_empty();
            }
        }
        if !fired.is_empty() {
            self.start(child, end_ns, fired, step);
        }
    }
}

/// Judges a window of one edge, and adds its events.
fn judge_edge(graph: &Graph, edge: &mut Edge, window: Span, seen: Seen<'_>, events: &mut Vec<Event>) {
    let child = &graph.queries[edge.query];
    let Some(trigger) = &child.trigger else { return };
    let parent = &graph.queries[trigger.parent];
    let node = graph.node_name(edge.node);
    let time = pass_time(edge, parent, window);
    let run = edge.run.clone();
    let rows = match seen {
        Seen::Answer(answer) => Rows::of(parent, answer),
        Seen::Empty => Some(Rows::none(parent)),
        Seen::Missing => None,
    };
    let Some(rows) = rows else {
        edge.missing += 1;
        edge.is_settled = edge.missing > MISSING;
        edge.keys.values_mut().for_each(|progress| progress.phase.wait(time));
        if edge.missing == MISSING {
            let mut event = plain_event(EventKind::NoData, child, node, window);
            (event.fired_by, event.parent) = (Some(parent.name.clone()), run);
            events.push(event);
        }
        return;
    };
    edge.missing = 0;
    edge.watched_ns += time.length_ns;
    let reads_key = trigger.condition.items().iter().any(|item| parent.key.contains(item));
    let none = Key::new();
    let mut judging = Judging {
        parent,
        trigger,
        settings: &graph.settings,
        items: trigger.condition.items(),
        without_packets: (!reads_key).then(|| trigger.condition.holds(&without_packets(parent, &none))),
        edge,
        time,
        happened: Vec::new(),
        changed: false,
    };
    let coverage = rows.coverage();
    judging.all(&rows);
    let Judging { happened, items: columns, changed, edge, .. } = judging;
    edge.is_settled = !changed;
    let about = Told { graph, child, parent, trigger, node, window, coverage, run, columns };
    about.add_events(happened, edge, events);
}

/// Counts the windows that were skipped, in which all was as in the last one.
fn pass_time(edge: &mut Edge, parent: &Query, window: Span) -> Time {
    let (end_ns, length_ns) = (window.end_ns, parent.every_ns);
    let begin = end_ns.saturating_sub(length_ns);
    let skipped_ns = edge.last_end_ns.map_or(0, |last| begin.saturating_sub(last));
    edge.last_end_ns = Some(end_ns);
    match edge.missing {
        0 => edge.watched_ns += skipped_ns,
        _ => edge.missing += skipped_ns / length_ns,
    }
    Time { end_ns, length_ns, skipped_ns }
}

impl Phase {
    /// A window of which nothing is known.
    fn wait(&mut self, time: Time) {
        if let Self::Pending { held_ns, is_true } = self {
            *held_ns += if *is_true { time.skipped_ns } else { 0 };
            *is_true = false;
        }
    }
}

impl Judging<'_> {
    /// Judges the groups of the answer, then the keys that are known and have none.
    fn all(&mut self, rows: &Rows<'_>) {
        let is_uncovered = rows.is_uncovered(self.settings);
        let mut rows_of_pinned = BTreeSet::new();
        for row in rows.rows() {
            let key = rows.key(row);
            if self.parent.pinned.contains(&key) {
                rows_of_pinned.insert(key.clone());
            }
            let figures = rows.figures(row);
            let values = |_: &Key, items: &[usize]| {
                items.iter().map(|column| row.get(*column).cloned().unwrap_or_default()).collect()
            };
            self.key(key, true, is_uncovered, &figures, values);
        }
        let absent = |progress: &Progress| progress.seen_ns != self.edge.watched_ns;
        let known =
            self.edge.keys.iter().filter(|(_, progress)| absent(progress)).map(|(key, _)| key.clone());
        let mut absent: Vec<Key> = known.collect();
        let pinned = self.parent.pinned.iter().filter(|key| !self.edge.keys.contains_key(*key));
        absent.extend(pinned.filter(|key| !rows_of_pinned.contains(*key)).cloned());
        for key in absent {
            let figures = rows.absent(&key);
            self.key(key, false, is_uncovered, &figures, |key, items| rows.absent_values(key, items));
        }
    }

    /// Judges a key.
    fn key(
        &mut self,
        key: Key,
        is_seen: bool,
        is_uncovered: bool,
        figures: &[Figure],
        values: impl FnOnce(&Key, &[usize]) -> Vec<Value>,
    ) {
        let Self { trigger, settings, time, .. } = *self;
        let truth = |holds: Truth| if is_uncovered { Truth::Unknown } else { holds };
        let own = truth(trigger.condition.holds(figures));
        let rearms = match &trigger.until {
            None => own.negated(),
            Some(until) => truth(until.holds(figures)),
        };
        let known = self.edge.keys.get(&key);
        let is_pinned = self.parent.pinned.contains(&key);
        if known.is_none() && !is_pinned && self.edge.keys.len() >= settings.most_keys {
            self.edge.forgotten += 1;
            return;
        }
        let before = known.map_or(Phase::Idle, |progress| progress.phase);
        let seen_ns = match known {
            Some(progress) if !is_seen => progress.seen_ns,
            _ => self.edge.watched_ns,
        };
        let unseen_ns = self.edge.watched_ns - seen_ns;
        let (phase, change) = before.after(Judged { truth: own, rearms }, time, trigger);
        self.changed |= change.is_some() || is_other(before, phase);
        let expires = self.parent.every_ns.saturating_mul(settings.expire_windows);
        let is_expired = !is_pinned && unseen_ns >= expires && change != Some(Change::Fired);
        let kind = match change {
            Some(Change::Fired) => Some(EventKind::Fired),
            Some(Change::Resolved) => Some(EventKind::Resolved),
            None if is_expired && phase != Phase::Idle => Some(EventKind::Expired),
            None => None,
        };
        let fired = known.and_then(|progress| progress.fired.clone());
        // The end of a firing that was suppressed is suppressed too.
        if let Some(kind) = kind.filter(|kind| *kind == EventKind::Fired || fired.is_some()) {
            let values = values(&key, &self.items);
            let size = if kind == EventKind::Fired { size(&values) } else { 0.0 };
            self.happened.push(Happened { kind, key: key.clone(), values, size, fired });
        }
        // An idle key is worth remembering only if it would fire without packets.
        let is_kept = phase != Phase::Idle || !is_pinned && self.fires_without_packets(&key);
        if !is_kept || is_expired {
            self.changed |= self.edge.keys.remove(&key).is_some();
        } else if let Some(progress) = self.edge.keys.get_mut(&key) {
            (progress.phase, progress.seen_ns) = (phase, seen_ns);
            // A firing that is suppressed has no event: the one before is not what a later event is due to.
            if change == Some(Change::Fired) {
                progress.fired = None;
            }
        } else {
            self.edge.keys.insert(key, Progress { phase, seen_ns, fired: None });
        }
    }

    fn fires_without_packets(&self, key: &Key) -> bool {
        let truth = self
            .without_packets
            .unwrap_or_else(|| self.trigger.condition.holds(&without_packets(self.parent, key)));
        truth == Truth::True
    }
}

/// How large a group is, by the first value of the condition.
fn size(values: &[Value]) -> f64 {
    match values.first().map(|value| Figure::of(value, Role::Total, Certainty::Whole)) {
        Some(Figure::Number(interval)) => interval.lower,
        _ => 0.0,
    }
}

/// Whether two phases differ in more than the time that passes.
fn is_other(before: Phase, after: Phase) -> bool {
    match (before, after) {
        (Phase::Pending { is_true: before, .. }, Phase::Pending { is_true: after, .. }) => before != after,
        (before, after) => before != after,
    }
}

/// What is said of all events of an edge in a window.
struct Told<'a> {
    graph: &'a Graph,
    child: &'a Query,
    parent: &'a Query,
    trigger: &'a Trigger,
    /// `None` for all together.
    node: Option<&'a str>,
    window: Span,
    coverage: Option<f64>,
    run: Option<String>,
    columns: Vec<usize>,
}

impl Told<'_> {
    /// Adds the events: what ended in the order of keys, then what fired, the largest first.
    fn add_events(&self, mut happened: Vec<Happened>, edge: &mut Edge, events: &mut Vec<Event>) {
        happened.sort_by(|a, b| {
            let by_size = || b.size.total_cmp(&a.size);
            a.has_fired().cmp(&b.has_fired()).then_with(by_size).then_with(|| a.key.cmp(&b.key))
        });
        // What fired is last, the smallest at the end.
        let fired = happened.iter().filter(|one| one.has_fired()).count();
        let suppressed = fired.saturating_sub(self.graph.settings.most_firings);
        happened.truncate(happened.len() - suppressed);
        events.reserve(happened.len() + usize::from(suppressed != 0));
        for one in happened {
            let known = if one.has_fired() { edge.keys.get_mut(&one.key) } else { None };
            let event = self.event(one);
            if let Some(progress) = known {
                progress.fired = Some(event.event.clone());
            }
            events.push(event);
        }
        if suppressed != 0 {
            let mut event = plain_event(EventKind::Suppressed, self.child, self.node, self.window);
            let column = Column::new("suppressed", ColumnKind::Unsigned, "keys");
            event.values = vec![Item { column, value: Value::Unsigned(suppressed as u64) }];
            (event.fired_by, event.parent) = (Some(self.parent.name.clone()), self.run.clone());
            events.push(event);
        }
    }

    fn event(&self, one: Happened) -> Event {
        let Self { child, parent, node, window, .. } = *self;
        let about =
            About { kind: one.kind, query: &child.name, version: &child.text, key: &one.key, node, window };
        let column = |column: &usize| &parent.columns[*column].column;
        let named = self.columns.iter().map(column).zip(one.values);
        Event {
            event: identifier(&about),
            kind: one.kind,
            query: child.name.clone(),
            fired_by: Some(parent.name.clone()),
            key: items(&one.key, parent.key.iter().map(column)),
            node: node.map(str::to_owned),
            at_ns: window.end_ns,
            window: Some(window),
            values: named.map(|(column, value)| Item { column: column.clone(), value }).collect(),
            threshold: self.trigger.condition.threshold(),
            late: false,
            coverage: self.coverage,
            parent: match one.kind {
                EventKind::Fired => self.run.clone(),
                _ => one.fired.or_else(|| self.run.clone()),
            },
        }
    }
}
