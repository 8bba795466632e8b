//! Queries that others refer to.

use crate::kind::ValueKind;
use std::collections::HashMap;
use task::query::Over;

/// A query as others see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parent {
    /// The columns of the query, then the fields that it groups by and has no column of: names and types.
    pub(crate) items: Vec<(String, ValueKind)>,
    index: HashMap<String, usize>,
    /// The fields that it groups by, with prefixes, as text.
    pub(crate) keys: Vec<String>,
    /// The windows of the query, where they are known.
    pub(crate) over: Option<Over>,
    /// True if the columns of the query are known. Those of a query with errors are not.
    pub(crate) is_known: bool,
}

impl Parent {
    pub(crate) fn new(
        items: impl IntoIterator<Item = (String, ValueKind)>,
        keys: Vec<String>,
        over: Option<Over>,
    ) -> Self {
        let mut parent = Self { keys, over, is_known: true, ..Self::default() };
        for (name, kind) in items {
            let next = parent.items.len();
            if let std::collections::hash_map::Entry::Vacant(place) = parent.index.entry(name.clone()) {
                place.insert(next);
                parent.items.push((name, kind));
            }
        }
        parent
    }

    pub(crate) fn item(&self, name: &str) -> Option<&ValueKind> {
        self.index.get(name).map(|at| &self.items[*at].1)
    }

    /// The names of its items, as an error lists them.
    pub(crate) fn listed(&self) -> String {
        let names: Vec<_> = self.items.iter().take(20).map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }
}

/// The queries that others may refer to, by name.
pub(crate) type Parents = HashMap<String, Parent>;
