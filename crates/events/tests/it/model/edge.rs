//! What the naive machine remembers of an edge, and what a window does to its keys.

use super::known::{Known, Told, of_absent, of_row, truth};
use events::{EventKey, Graph, Member, ObservedWindow, QueryTrigger, TriggerKind, TriggerSource};
use model::{Answer, EventKind};
use std::collections::{BTreeMap, BTreeSet};

/// The phase of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    Pending { held_ns: u64 },
    Active { fired_ns: u64 },
    Recovering { until_ns: u64, held_ns: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    phase: Phase,
    fired: Option<usize>,
}

/// A condition on the answers of one place, in one set of runs of the sources.
#[derive(Debug, Default)]
pub(crate) struct Edge {
    /// By window since the first one: of each source the keys that have rows; `None` of one that is missing.
    windows: Vec<Vec<Option<BTreeSet<EventKey>>>>,
    keys: BTreeMap<EventKey, Memory>,
}

/// A change of a key in one window.
pub(crate) struct Change {
    /// `None` if it goes on.
    pub(crate) kind: Option<EventKind>,
    pub(crate) key: EventKey,
    /// What the condition reads.
    pub(crate) values: Vec<Known>,
    /// What a firing pins.
    pub(crate) instance: EventKey,
    /// By what firings are ordered.
    pub(crate) size: f64,
    pub(crate) fired: Option<usize>,
}

/// What is known of a group in a window.
struct Judged {
    key: EventKey,
    /// By item.
    figures: Vec<Known>,
    /// The same where what was lost may have been of it.
    widened: Vec<Known>,
    /// By item, what events say of it.
    told: Vec<Known>,
}

/// What a source has in a window.
struct Side<'a> {
    source: &'a TriggerSource,
    query: &'a events::GraphQuery,
    seen: ObservedWindow<'a>,
    answer: Option<&'a Answer>,
    is_missing: bool,
}

/// The items of conditions begin with those of the first source.
fn source_of(graph: &Graph, trigger: &QueryTrigger, item: usize) -> usize {
    let mut first = 0;
    for (at, source) in trigger.sources.iter().enumerate() {
        first += graph.queries[source.query].columns.len();
        if item < first {
            return at;
        }
    }
    panic!("there is no item {item}")
}

/// The sources whose items a trigger reads.
pub(crate) fn read(graph: &Graph, trigger: &QueryTrigger) -> BTreeSet<usize> {
    let until = trigger.until.iter().flat_map(events::TriggerCondition::items);
    trigger.condition.items().into_iter().chain(until).map(|item| source_of(graph, trigger, item)).collect()
}

/// What a firing for this key pins: histories pin members of keys only.
fn pinned_by(graph: &Graph, trigger: &QueryTrigger, key: &[Member]) -> EventKey {
    let member = |item: usize| {
        let source = source_of(graph, trigger, item);
        let before = trigger.sources[..source].iter();
        let before: usize = before.map(|source| graph.queries[source.query].columns.len()).sum();
        let columns = trigger.sources[source].key.as_ref().expect("a source with a key");
        let at = columns.iter().position(|column| *column == item - before).expect("a column of the key");
        key[at].clone()
    };
    let fields = trigger.bindings.iter().filter_map(|binding| match binding {
        events::Binding::Field { item, .. } => Some(*item),
        events::Binding::Node => None,
    });
    fields.map(member).collect()
}

/// Whether `condition`, or a part of it, asks whether a source is missing.
fn asks_missing(condition: &events::TriggerCondition) -> bool {
    use events::TriggerCondition::{And, IsMissing, Not, Or, Surely};
    match condition {
        IsMissing(_) => true,
        And(of) | Or(of) => of.iter().any(asks_missing),
        Not(of) | Surely(of) => asks_missing(of),
        _ => false,
    }
}

/// A key of the trigger as the source has it, in the order of its columns.
fn of_source(side: &Side<'_>, key: &[Member]) -> EventKey {
    let Some(columns) = &side.source.key else { return EventKey::new() };
    let mut own = vec![Member::Null; side.query.key.len()];
    for (member, column) in key.iter().zip(columns) {
        let at = side.query.key.iter().position(|own| own == column).expect("a column of the key");
        own[at] = member.clone();
    }
    own
}

fn to_trigger(side: &Side<'_>, row: &[model::Value]) -> Option<EventKey> {
    side.source.key.as_ref().map(|columns| columns.iter().map(|column| (&row[*column]).into()).collect())
}

/// Keys that are known before they have packets.
pub(crate) fn pinned(graph: &Graph, trigger: &QueryTrigger) -> BTreeSet<EventKey> {
    let mut pinned = BTreeSet::new();
    let mut is_keyed = false;
    for source in &trigger.sources {
        let (Some(columns), query) = (&source.key, &graph.queries[source.query]) else { continue };
        is_keyed = true;
        for key in &query.pinned {
            let place = |column: &usize| query.key.iter().position(|own| own == column).expect("of the key");
            pinned.insert(columns.iter().map(|column| key[place(column)].clone()).collect());
        }
    }
    if !is_keyed {
        pinned.insert(EventKey::new());
    }
    pinned
}

/// The key that the runs of the sources pin, by what each of them pins.
fn pinned_by_runs(sides: &[Side<'_>], instances: &[EventKey]) -> Option<EventKey> {
    for (side, instance) in sides.iter().zip(instances) {
        let (Some(bound), Some(columns)) = (&side.query.bound_key, &side.source.key) else { continue };
        if instance.is_empty() {
            continue;
        }
        let of = |column: &usize| {
            let at = side.query.key.iter().position(|own| own == column).expect("of the key");
            instance[bound[at]].clone()
        };
        return Some(columns.iter().map(of).collect());
    }
    None
}

impl Edge {
    /// Takes a window: what changes, in the order of keys; `None` if nothing is known of it.
    pub(crate) fn take(
        &mut self,
        trigger: &QueryTrigger,
        graph: &Graph,
        end_ns: u64,
        seen: &[ObservedWindow<'_>],
        instances: &[EventKey],
    ) -> Option<Vec<Change>> {
        let settings = &graph.settings;
        let sides: Vec<Side<'_>> = trigger
            .sources
            .iter()
            .zip(seen)
            .map(|(source, seen)| {
                let query = &graph.queries[source.query];
                let answer = match seen {
                    ObservedWindow::Answer(answer) if answer.columns.len() == query.columns.len() => {
                        Some(*answer)
                    }
                    _ => None,
                };
                let is_missing = answer.is_none() && !matches!(seen, ObservedWindow::Empty);
                Side { source, query, seen: *seen, answer, is_missing }
            })
            .collect();
        let rows = |side: &Side<'_>| {
            let rows = side.answer.iter().flat_map(|answer| &answer.rows);
            (!side.is_missing).then(|| rows.filter_map(|row| to_trigger(side, row)).collect())
        };
        self.windows.push(sides.iter().map(rows).collect());
        let read = read(graph, trigger);
        let asks = asks_missing(&trigger.condition) || trigger.until.as_ref().is_some_and(asks_missing);
        if !read.is_empty() && read.iter().all(|source| sides[*source].is_missing) && !asks {
            return None;
        }
        let missing: Vec<bool> = sides.iter().map(|side| side.is_missing).collect();
        let mut pinned = pinned(graph, trigger);
        pinned.extend(pinned_by_runs(&sides, instances));
        let every_ns = sides[0].query.every_ns;
        let judged = self.judged(&sides, settings.coverage, &pinned);
        let mut changes = Vec::new();
        for Judged { key, figures, widened, told, .. } in judged {
            let known = self.keys.get(&key).copied();
            let is_pinned = pinned.contains(&key);
            if known.is_none() && !is_pinned && self.keys.len() >= settings.most_keys {
                continue;
            }
            let before = known.unwrap_or(Memory { phase: Phase::Idle, fired: None });
            let group = Told { figures: &figures, widened: &widened, missing: &missing };
            let is_true = truth(&trigger.condition, &group);
            let is_over = match &trigger.until {
                Some(until) => truth(until, &group),
                None => is_true.map(|is_true| !is_true),
            };
            let (phase, kind) = follow(before.phase, is_true, is_over, trigger, every_ns, end_ns);
            let is_old = !is_pinned
                && kind != Some(EventKind::Fired)
                && self.windows_without(&key, &read) >= settings.expire_windows;
            let without = || {
                let of = sides.iter().flat_map(|side| {
                    of_absent(side.query, &of_source(side, &key), &ObservedWindow::Empty, false)
                });
                let of: Vec<Known> = of.collect();
                truth(&trigger.condition, &Told { figures: &of, widened: &of, missing: &[] })
            };
            let is_forgotten = phase == Phase::Idle && (is_pinned || without() != Some(true));
            let kind = kind.or((is_old && phase != Phase::Idle).then_some(EventKind::Expired));
            if is_old || is_forgotten {
                self.keys.remove(&key);
            } else {
                self.keys.insert(key.clone(), Memory { phase, fired: before.fired });
            }
            // A firing of its own is not told to end.
            let kind = kind.filter(|kind| *kind != EventKind::Resolved || trigger.kind != TriggerKind::Each);
            // What has not been told to begin is not told to end.
            let kind = kind.filter(|kind| *kind == EventKind::Fired || before.fired.is_some());
            let goes_on = kind.is_none()
                && trigger.kind == TriggerKind::While
                && is_true == Some(true)
                && before.fired.is_some();
            if kind.is_some() || goes_on {
                let values: Vec<_> =
                    trigger.condition.items().into_iter().map(|item| told[item].clone()).collect();
                let size = values.first().map_or(0.0, size);
                let instance = pinned_by(graph, trigger, &key);
                changes.push(Change { kind, key, values, instance, size, fired: before.fired });
            }
        }
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        Some(changes)
    }

    /// The groups of a window: those of its rows, then known keys and those that are pinned.
    fn judged(&self, sides: &[Side<'_>], coverage: f64, pinned: &BTreeSet<EventKey>) -> Vec<Judged> {
        let mut with_rows: Vec<EventKey> = Vec::new();
        for side in sides {
            for row in side.answer.iter().flat_map(|answer| &answer.rows) {
                with_rows.extend(to_trigger(side, row).filter(|key| !with_rows.contains(key)));
            }
        }
        let mut keys = with_rows.clone();
        let others = pinned.iter().filter(|key| !self.keys.contains_key(*key));
        let others = self.keys.keys().chain(others).filter(|key| !with_rows.contains(*key));
        keys.extend(others.cloned());
        let judged = |key: EventKey| {
            let (figures, widened, told) = (Vec::new(), Vec::new(), Vec::new());
            let mut judged = Judged { key, figures, widened, told };
            for side in sides {
                let mut rows = side.answer.iter().flat_map(|answer| &answer.rows);
                let row = match side.source.key {
                    Some(_) => rows.find(|row| to_trigger(side, row).as_ref() == Some(&judged.key)),
                    None => rows.next(),
                };
                side.know(&mut judged, row, coverage);
            }
            judged
        };
        keys.into_iter().map(judged).collect()
    }

    /// The keys that are remembered.
    pub(crate) fn remembered(&self) -> Vec<(&EventKey, Phase)> {
        self.keys.iter().map(|(key, memory)| (key, memory.phase)).collect()
    }

    /// Windows in a row in which a source is missing.
    pub(crate) fn missing(&self, source: usize) -> usize {
        self.windows.iter().rev().take_while(|window| window[source].is_none()).count()
    }

    /// A key fired; the number of the event if it is told.
    pub(crate) fn has_fired(&mut self, key: &EventKey, event: Option<usize>) {
        if let Some(memory) = self.keys.get_mut(key) {
            memory.fired = event;
        }
    }

    /// Windows since the key had a row in which all that is read was there.
    fn windows_without(&self, key: &EventKey, read: &BTreeSet<usize>) -> u64 {
        let mut number = 0;
        for window in self.windows.iter().rev() {
            let has = |with_rows: &BTreeSet<EventKey>| with_rows.contains(key);
            if window.iter().flatten().any(has) && window_is_judged(window, read) {
                break;
            }
            number += u64::from(read.iter().all(|source| window[*source].is_some()));
        }
        number
    }
}

/// A window in which some source that is read was there.
fn window_is_judged(window: &[Option<BTreeSet<EventKey>>], read: &BTreeSet<usize>) -> bool {
    read.is_empty() || read.iter().any(|source| window[*source].is_some())
}

impl Side<'_> {
    /// Adds what the source says of a group, which has this row.
    fn know(&self, judged: &mut Judged, row: Option<&Vec<model::Value>>, coverage: f64) {
        let own = of_source(self, &judged.key);
        let is_covered = self.answer.and_then(|answer| answer.coverage).is_none_or(|share| share >= coverage);
        let no_figure = |figure: &Known| if *figure == Known::Unknown { Known::Null } else { figure.clone() };
        if self.is_missing {
            let of_key = |column: usize| self.query.key.iter().position(|own| *own == column);
            let figures: Vec<Known> = (0..self.query.columns.len())
                .map(|column| match of_key(column) {
                    Some(at) => Known::from(&model::Value::from(&own[at])),
                    None => Known::Unknown,
                })
                .collect();
            judged.told.extend(figures.iter().map(no_figure));
            judged.widened.extend(figures.iter().cloned());
            judged.figures.extend(figures);
            return;
        }
        let known = |widened: bool| match (row, self.answer) {
            (Some(row), Some(answer)) => of_row(self.query, answer, row, widened),
            _ => of_absent(self.query, &own, &self.seen, widened),
        };
        judged.told.extend(match row {
            Some(row) => row.iter().map(Known::from).collect::<Vec<_>>(),
            None => known(false).iter().map(no_figure).collect(),
        });
        judged.widened.extend(known(true));
        match is_covered {
            true => judged.figures.extend(known(false)),
            false => judged.figures.extend(self.query.columns.iter().map(|_| Known::Unknown)),
        }
    }
}

/// The phase after a window, and whether the key fires or is resolved in it.
fn follow(
    phase: Phase,
    is_true: Option<bool>,
    is_over: Option<bool>,
    trigger: &QueryTrigger,
    every_ns: u64,
    end_ns: u64,
) -> (Phase, Option<EventKind>) {
    let hold = |held_ns| {
        if held_ns >= trigger.hold_ns {
            (Phase::Active { fired_ns: end_ns }, Some(EventKind::Fired))
        } else {
            (Phase::Pending { held_ns }, None)
        }
    };
    match (phase, is_true) {
        (Phase::Recovering { until_ns, held_ns }, _) if end_ns < until_ns => {
            let held_ns = match is_true {
                Some(true) => held_ns + every_ns,
                Some(false) => 0,
                None => held_ns,
            };
            (Phase::Recovering { until_ns, held_ns }, None)
        }
        (Phase::Active { .. }, Some(true)) if trigger.kind == TriggerKind::Each => hold(trigger.hold_ns),
        (Phase::Active { fired_ns }, _) if is_over == Some(true) => {
            let until_ns = fired_ns + trigger.cooldown_ns;
            let recovers = until_ns > end_ns + every_ns;
            let phase = if recovers { Phase::Recovering { until_ns, held_ns: 0 } } else { Phase::Idle };
            (phase, Some(EventKind::Resolved))
        }
        (Phase::Recovering { held_ns: 0, .. }, None) => (Phase::Idle, None),
        (Phase::Recovering { held_ns, .. }, None) => (Phase::Pending { held_ns }, None),
        (Phase::Active { .. }, _) | (_, None) => (phase, None),
        (Phase::Idle, Some(true)) => hold(every_ns),
        (Phase::Pending { held_ns } | Phase::Recovering { held_ns, .. }, Some(true)) => {
            hold(held_ns + every_ns)
        }
        (_, Some(false)) => (Phase::Idle, None),
    }
}

/// By what firings are ordered.
fn size(value: &Known) -> f64 {
    match value {
        Known::Within(least, _) => *least,
        _ => 0.0,
    }
}
