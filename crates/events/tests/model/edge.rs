//! What the naive machine remembers of an edge, and what a window does to its keys.

use super::known::{Known, of_absent, of_row, truth};
use events::{Key, Query, Seen, Settings, Trigger};
use report::{Answer, EventKind};
use std::collections::{BTreeMap, BTreeSet};

/// The phase of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    Pending { held_ns: u64 },
    Active { fired_ns: u64 },
    Recovering { until_ns: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    phase: Phase,
    fired: Option<usize>,
}

/// A condition on the answers of one node, in one run of the parent.
#[derive(Debug, Default)]
pub(crate) struct Edge {
    /// The keys that have rows in each window since the first one; `None` of those that are missing.
    windows: Vec<Option<BTreeSet<Key>>>,
    keys: BTreeMap<Key, Memory>,
}

/// A change of a key in one window.
pub(crate) struct Change {
    pub(crate) kind: EventKind,
    pub(crate) key: Key,
    /// What the condition reads.
    pub(crate) values: Vec<Known>,
    /// By what firings are ordered.
    pub(crate) size: f64,
    pub(crate) fired: Option<usize>,
}

/// What is known of a group in a window.
struct Judged {
    key: Key,
    /// By column.
    figures: Vec<Known>,
    /// By column, what events say of it.
    told: Vec<Known>,
    has_row: bool,
}

impl Edge {
    /// Takes a window: what changes, in the order of keys; `None` if it is missing.
    pub(crate) fn take(
        &mut self,
        trigger: &Trigger,
        parent: &Query,
        settings: &Settings,
        end_ns: u64,
        seen: &Seen<'_>,
    ) -> Option<Vec<Change>> {
        let answer = match seen {
            Seen::Missing => None,
            Seen::Answer(answer) if answer.columns.len() != parent.columns.len() => None,
            Seen::Empty => Some(None),
            Seen::Answer(answer) => Some(Some(*answer)),
        };
        let Some(answer) = answer else {
            self.windows.push(None);
            return None;
        };
        let judged = self.judged(parent, answer, seen);
        let with_rows = judged.iter().filter(|judged| judged.has_row).map(|judged| judged.key.clone());
        self.windows.push(Some(with_rows.collect()));
        let is_covered =
            answer.and_then(|answer| answer.coverage).is_none_or(|coverage| coverage >= settings.coverage);
        let mut changes = Vec::new();
        for Judged { key, figures, told, .. } in judged {
            let known = self.keys.get(&key).copied();
            let is_pinned = parent.pinned.contains(&key);
            if known.is_none() && !is_pinned && self.keys.len() >= settings.most_keys {
                continue;
            }
            let before = known.unwrap_or(Memory { phase: Phase::Idle, fired: None });
            let decide = |condition| if is_covered { truth(condition, &figures) } else { None };
            let is_true = decide(&trigger.condition);
            let is_over = trigger.until.as_ref().map_or(is_true.map(|is_true| !is_true), decide);
            let (phase, kind) = follow(before.phase, is_true, is_over, trigger, parent.every_ns, end_ns);
            let is_old = !is_pinned
                && kind != Some(EventKind::Fired)
                && self.windows_without(&key) >= settings.expire_windows;
            let is_forgotten = phase == Phase::Idle
                && (parent.pinned.contains(&key)
                    || truth(&trigger.condition, &of_absent(parent, &key, &Seen::Empty)) != Some(true));
            let kind = kind.or((is_old && phase != Phase::Idle).then_some(EventKind::Expired));
            if is_old || is_forgotten {
                self.keys.remove(&key);
            } else {
                self.keys.insert(key.clone(), Memory { phase, fired: before.fired });
            }
            // What has not been told to begin is not told to end.
            if let Some(kind) = kind.filter(|kind| *kind == EventKind::Fired || before.fired.is_some()) {
                let values: Vec<_> =
                    trigger.condition.items().into_iter().map(|item| told[item].clone()).collect();
                let size = values.first().map_or(0.0, size);
                changes.push(Change { kind, key, values, size, fired: before.fired });
            }
        }
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        Some(changes)
    }

    /// The groups of a window: those of its rows, then known keys and those that are pinned.
    fn judged(&self, parent: &Query, answer: Option<&Answer>, seen: &Seen<'_>) -> Vec<Judged> {
        let mut judged: Vec<Judged> = Vec::new();
        for (answer, row) in answer.iter().flat_map(|answer| answer.rows.iter().map(move |row| (answer, row)))
        {
            judged.push(Judged {
                key: parent.key.iter().map(|column| (&row[*column]).into()).collect(),
                figures: of_row(parent, answer, row),
                told: row.iter().map(Known::from).collect(),
                has_row: true,
            });
        }
        let with_rows: BTreeSet<Key> = judged.iter().map(|judged| judged.key.clone()).collect();
        let pinned = parent.pinned.iter().filter(|key| !self.keys.contains_key(*key));
        for key in self.keys.keys().chain(pinned).filter(|key| !with_rows.contains(*key)) {
            let figures = of_absent(parent, key, seen);
            let known = |figure: &Known| if *figure == Known::Unknown { Known::Null } else { figure.clone() };
            let told = figures.iter().map(known).collect();
            judged.push(Judged { key: key.clone(), figures, told, has_row: false });
        }
        judged
    }

    /// The keys that are remembered.
    pub(crate) fn remembered(&self) -> Vec<(&Key, Phase)> {
        self.keys.iter().map(|(key, memory)| (key, memory.phase)).collect()
    }

    /// Windows in a row that are missing.
    pub(crate) fn missing(&self) -> usize {
        self.windows.iter().rev().take_while(|window| window.is_none()).count()
    }

    /// A key fired; the number of the event if it is told.
    pub(crate) fn has_fired(&mut self, key: &Key, event: Option<usize>) {
        if let Some(memory) = self.keys.get_mut(key) {
            memory.fired = event;
        }
    }

    /// Windows watched since the key had a row.
    fn windows_without(&self, key: &Key) -> u64 {
        self.windows.iter().flatten().rev().take_while(|with_rows| !with_rows.contains(key)).count() as u64
    }
}

/// The phase after a window, and whether the key fires or is resolved in it.
fn follow(
    phase: Phase,
    is_true: Option<bool>,
    is_over: Option<bool>,
    trigger: &Trigger,
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
        (Phase::Recovering { until_ns }, _) if end_ns < until_ns => (phase, None),
        (Phase::Active { fired_ns }, _) if is_over == Some(true) => {
            let until_ns = fired_ns + trigger.cooldown_ns;
            let recovers = until_ns > end_ns + every_ns;
            let phase = if recovers { Phase::Recovering { until_ns } } else { Phase::Idle };
            (phase, Some(EventKind::Resolved))
        }
        (Phase::Recovering { .. }, None) => (Phase::Idle, None),
        (Phase::Active { .. }, _) | (_, None) => (phase, None),
        (Phase::Idle | Phase::Recovering { .. }, Some(true)) => hold(every_ns),
        (Phase::Pending { held_ns }, Some(true)) => hold(held_ns + every_ns),
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
