//! Silences: firings of which nobody is told for a time.

use model::{Event, Item};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Silent firings that are remembered, by which those that follow from them are known.
const MOST: usize = 10_000;

/// A silence of firings.
#[derive(Clone, Debug, PartialEq)]
pub struct SilencedFiring {
    /// The query, the node and the key of the firings; `None` if only those that are named are silent.
    pub of: Option<(String, Option<String>, Vec<Item>)>,
    /// The identifiers of further events that are silent. What one of them started is silent, too.
    pub events: Vec<String>,
    /// The time at which the silence ends, nanoseconds since the epoch.
    pub until_ns: u64,
}

/// What a firing is of, and what started it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FiredAlert {
    query: String,
    node: Option<String>,
    key: Vec<Item>,
    parent: Option<String>,
}

impl FiredAlert {
    pub(crate) fn from_event(event: &Event) -> Self {
        let Event { query, node, key, parent, .. } = event.clone();
        Self { query, node, key, parent }
    }
}

/// The silences of now, and the events that are silent by them.
#[derive(Debug, Default)]
pub(crate) struct Silences {
    silences: Vec<SilencedFiring>,
    /// The time until which each event is silent.
    events: BTreeMap<String, u64>,
    /// Those of them that came later, in their order.
    later: VecDeque<String>,
}

impl Silences {
    /// Takes the place of those before. Events that these made silent are silent no more.
    pub(crate) fn replace(&mut self, silences: Vec<SilencedFiring>) {
        self.later.clear();
        self.events.clear();
        for silence in &silences {
            for event in &silence.events {
                let until_ns = self.events.entry(event.clone()).or_default();
                *until_ns = (*until_ns).max(silence.until_ns);
            }
        }
        self.silences = silences;
    }

    /// Returns until when a firing is silent; 0: it is not. Those that it starts are silent as long.
    pub(crate) fn until(&mut self, event: &str, fired: &FiredAlert) -> u64 {
        if self.silences.is_empty() {
            return 0;
        }
        let is_it = |silence: &&SilencedFiring| {
            let of = silence.of.as_ref();
            of.is_some_and(|(query, node, key)| {
                *query == fired.query && *node == fired.node && *key == fired.key
            })
        };
        let by_cause = self.silences.iter().filter(is_it).map(|silence| silence.until_ns).max();
        let by_name = [Some(event), fired.parent.as_deref()].into_iter().flatten();
        let by_name = by_name.filter_map(|name| self.events.get(name).copied()).max();
        let until_ns = by_cause.max(by_name).unwrap_or(0);
        if until_ns != 0 && self.events.insert(event.to_owned(), until_ns).is_none() {
            self.later.push_back(event.to_owned());
            if self.later.len() > MOST
                && let Some(oldest) = self.later.pop_front()
            {
                self.events.remove(&oldest);
            }
        }
        until_ns
    }
}
