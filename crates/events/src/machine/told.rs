//! Events of what happened to the keys of an edge.

use super::edges::SourceRuns;
use super::plain_event;
use super::runs::Firing;
use super::sides::{JoinedGroup, SourceAnswers};
use super::watch::TriggerPlan;
use crate::graph::{Binding, Graph, QueryTrigger};
use crate::id::{About, identifier};
use crate::key::{EventKey, items};
use crate::state::EdgeState;
use crate::title::Filling;
use model::{Column, ColumnKind, Event, EventKind, Item, Span, Value};
use std::rc::Rc;

/// A change of a key that becomes an event.
pub(super) struct Happened {
    pub(super) kind: EventKind,
    pub(super) key: EventKey,
    pub(super) values: Vec<Value>,
    /// The value by which the largest is first, of what fired.
    pub(super) size: f64,
    /// The values that a firing pins.
    pub(super) instance: EventKey,
    /// The number of the key's group, if that has a row.
    pub(super) row: Option<usize>,
    /// The event that fired before.
    pub(super) fired: Option<String>,
    /// The title of that event.
    pub(super) title: Option<String>,
}

impl Happened {
    fn has_fired(&self) -> bool {
        self.kind == EventKind::Fired
    }
}

/// The facts that all events of an edge in a window share.
pub(super) struct EdgeContext<'a> {
    pub(super) graph: &'a Graph,
    /// The query that is started, by number.
    pub(super) query: usize,
    pub(super) trigger: &'a QueryTrigger,
    pub(super) watch: &'a TriggerPlan,
    pub(super) window: Span,
    pub(super) sides: &'a SourceAnswers<'a>,
    /// The groups that have a row.
    pub(super) groups: &'a [JoinedGroup<'a>],
    pub(super) coverage: Option<f64>,
    /// The bounds of the values, in words, where they are estimates.
    pub(super) bounds: Option<String>,
}

impl EdgeContext<'_> {
    /// Adds the events: what ended in the order of keys, then what fired, the largest first. Returns what starts the query, with
    /// those of `holding`, which have fired before.
    pub(super) fn add_events(
        &self,
        mut happened: Vec<Happened>,
        mut holding: Vec<Happened>,
        edge: &mut EdgeState,
        runs: &Rc<SourceRuns>,
        events: &mut Vec<Event>,
    ) -> Vec<Firing> {
        happened.sort_by(|a, b| {
            let by_size = || b.size.total_cmp(&a.size);
            a.has_fired().cmp(&b.has_fired()).then_with(by_size).then_with(|| a.key.cmp(&b.key))
        });
        let node = self.trigger.bindings.contains(&Binding::Node).then_some(edge.place.node);
        let mut firings: Vec<Firing> = Vec::new();
        let mut fires = |event: &str, is_new, size, instance| {
            let runs = Rc::clone(runs);
            firings.push(Firing { event: event.to_owned(), is_new, instance, node, size, runs });
        };
        holding.sort_by(|a, b| a.key.cmp(&b.key));
        for one in holding {
            fires(one.fired.as_deref().unwrap_or_default(), false, one.size, one.instance);
        }
        // What fired is last, the smallest at the end.
        let fired = happened.iter().filter(|one| one.has_fired()).count();
        let suppressed = fired.saturating_sub(self.graph.settings.most_firings);
        happened.truncate(happened.len() - suppressed);
        events.reserve(happened.len() + usize::from(suppressed != 0));
        for one in happened {
            let known = if one.has_fired() { edge.keys.get_mut(&one.key) } else { None };
            let (size, instance, has_fired) = (one.size, one.instance.clone(), one.has_fired());
            let event = self.event(one, runs, edge.place.node);
            if has_fired {
                fires(&event.event, true, size, instance);
            }
            if let Some(progress) = known {
                (progress.fired, progress.title) = (Some(event.event.clone()), event.title.clone());
            }
            events.push(event);
        }
        if suppressed != 0 {
            events.push(self.suppressed(suppressed, runs, edge));
        }
        firings
    }

    fn suppressed(&self, number: usize, runs: &SourceRuns, edge: &EdgeState) -> Event {
        let node = self.graph.node_name(edge.place.node);
        let child = &self.graph.queries[self.query];
        let mut event = plain_event(EventKind::Suppressed, child, node, self.window, &runs.instances());
        let column = Column::new("suppressed", ColumnKind::Unsigned, "keys");
        event.values = vec![Item { column, value: Value::Unsigned(number as u64) }];
        (event.fired_by, event.parent) = (Some(self.sources()), edge.runs.first().cloned());
        event
    }

    /// The names of the queries whose answers are judged.
    fn sources(&self) -> String {
        let sources = self.trigger.sources.iter();
        let names: Vec<&str> = sources.map(|source| self.graph.queries[source.query].name.as_str()).collect();
        names.join(", ")
    }

    /// The column of an item; where there are several sources, with the name of its query.
    fn column(&self, item: usize) -> Column {
        let (source, column) = self.watch.place(item);
        let query = &self.graph.queries[self.trigger.sources[source].query];
        let column = &query.columns[column].column;
        match self.trigger.sources.len() {
            1 => column.clone(),
            _ => Column { name: format!("{}.{}", query.name, column.name), ..column.clone() },
        }
    }

    /// The title of what fired: it is made of an event alone, as far fewer keys have one than are judged.
    fn title(
        &self,
        row: Option<usize>,
        key: &EventKey,
        named: &[Item],
        node: Option<&str>,
    ) -> Option<String> {
        let titled = &self.watch.titled;
        let values = match row {
            _ if titled.is_empty() => Vec::new(),
            Some(row) => self.sides.values(&self.groups[row], self.watch, titled),
            None => self.sides.values(&self.sides.absent(key.clone()), self.watch, titled),
        };
        let values = titled.iter().zip(values);
        let values: Vec<Item> =
            values.map(|(item, value)| Item { column: self.column(*item), value }).collect();
        self.trigger.title.filled(&Filling { key: named, node, values: &values })
    }

    fn event(&self, one: Happened, runs: &SourceRuns, node: usize) -> Event {
        let Self { window, .. } = *self;
        let child = &self.graph.queries[self.query];
        let node = self.graph.node_name(node);
        let key = &[&one.key[..], &runs.instances()].concat();
        let about = About { kind: one.kind, query: &child.name, version: &child.text, key, node, window };
        let named = self.watch.items.iter().zip(one.values);
        let event_key = items(&one.key, self.watch.key.iter());
        let title = match one.kind {
            EventKind::Fired => self.title(one.row, &one.key, &event_key, node),
            _ => one.title,
        };
        let run = runs.causes().into_iter().next();
        Event {
            event: identifier(&about),
            kind: one.kind,
            query: child.name.clone(),
            fired_by: Some(self.sources()),
            key: event_key,
            node: node.map(str::to_owned),
            at_ns: window.end_ns,
            window: Some(window),
            values: named.map(|(item, value)| Item { column: self.column(*item), value }).collect(),
            threshold: self.trigger.condition.threshold(),
            late: false,
            coverage: self.coverage,
            bounds: self.bounds.clone(),
            parent: match one.kind {
                EventKind::Fired => run,
                _ => one.fired.or(run),
            },
            title,
        }
    }
}
