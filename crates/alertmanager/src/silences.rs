//! Silences: firings of which nobody is told for a time.

use model::{Event, Item};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Firings that are remembered, by which it is known what others follow from.
const MOST: usize = 10_000;
/// Firings between one and that which it follows from.
const MOST_STEPS: usize = 64;

/// A silence of firings.
#[derive(Clone, Debug, PartialEq)]
pub struct SilencedFiring {
    /// The query, the node and the key of firings that are silent, with what follows from them; `None` if only those that are named are
    /// silent. A firing that follows from another is judged by that one.
    pub of: Option<(String, Option<String>, Vec<Item>)>,
    /// The identifiers of further events that are silent. What follows from one of them is silent, too.
    pub events: Vec<String>,
    /// The time at which the silence ends, nanoseconds since the epoch.
    pub until_ns: u64,
}

/// The query, the node and the key of a firing that follows from no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RootCause {
    query: String,
    node: Option<String>,
    key: Vec<Item>,
}

/// What a firing follows from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FiringOrigin {
    /// The event that started it.
    parent: Option<String>,
    /// What the firing is of that it follows from, or it itself; `None` if that is not known.
    root: Option<RootCause>,
}

/// The silences of now, and what the firings follow from that were told last.
#[derive(Debug, Default)]
pub(crate) struct Silences {
    silences: Vec<SilencedFiring>,
    /// The time until which each event is silent that a silence names.
    events: BTreeMap<String, u64>,
    origins: BTreeMap<String, FiringOrigin>,
    /// The firings of `origins`, in their order.
    order: VecDeque<String>,
}

impl Silences {
    /// Takes the place of those before. Events that these made silent are silent no more.
    pub(crate) fn replace(&mut self, silences: Vec<SilencedFiring>) {
        self.events.clear();
        for silence in &silences {
            for event in &silence.events {
                let until_ns = self.events.entry(event.clone()).or_default();
                *until_ns = (*until_ns).max(silence.until_ns);
            }
        }
        self.silences = silences;
    }

    /// Returns what a firing follows from, as far as those are known that came before it.
    pub(crate) fn origin(&self, event: &Event) -> FiringOrigin {
        let Event { query, node, key, parent, .. } = event.clone();
        let root = match &parent {
            Some(parent) => self.origins.get(parent).and_then(|origin| origin.root.clone()),
            None => Some(RootCause { query, node, key }),
        };
        FiringOrigin { parent, root }
    }

    /// Returns true if it is known what this event follows from.
    pub(crate) fn knows(&self, event: &str) -> bool {
        self.origins.contains_key(event)
    }

    /// Remembers what an event follows from.
    pub(crate) fn remember(&mut self, event: &str, origin: FiringOrigin) {
        if self.origins.insert(event.to_owned(), origin).is_some() {
            return;
        }
        self.order.push_back(event.to_owned());
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.origins.remove(&oldest);
        }
    }

    /// Remembers an event of which nothing but the query, the node and the key of the firing is known that it follows from.
    pub(crate) fn remember_root(&mut self, event: &str, root: Option<(String, Option<String>, Vec<Item>)>) {
        let root = root.map(|(query, node, key)| RootCause { query, node, key });
        self.remember(event, FiringOrigin { parent: None, root });
    }

    /// Returns until when a firing is silent; 0: it is not. It is silent as long as what it follows from.
    pub(crate) fn until(&self, event: &str, origin: &FiringOrigin) -> u64 {
        let is_it = |silence: &&SilencedFiring| match (&silence.of, &origin.root) {
            (Some((query, node, key)), Some(root)) => {
                *query == root.query && *node == root.node && *key == root.key
            }
            _ => false,
        };
        let by_cause = self.silences.iter().filter(is_it).map(|silence| silence.until_ns).max();
        let parent = |event: &&str| self.origins.get(*event)?.parent.as_deref();
        let before = std::iter::successors(origin.parent.as_deref(), parent).take(MOST_STEPS);
        let names = std::iter::once(event).chain(before);
        let by_name = names.filter_map(|name| self.events.get(name).copied()).max();
        by_cause.max(by_name).unwrap_or(0)
    }
}
