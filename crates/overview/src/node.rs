//! A node: its steps, and what of them is unusual.

use crate::entries::Entries;
use crate::group_key::KeyShape;
use crate::history::History;

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) shape: KeyShape,
    pub(crate) tracks_loss: bool,
    pub(crate) history: History,
    pub(crate) entries: Entries,
}

impl Node {
    /// Creates a node without steps.
    pub(crate) fn new(name: &str, shape: KeyShape, tracks_loss: bool) -> Self {
        let (history, entries) = (History::default(), Entries::default());
        Self { name: name.to_owned(), shape, tracks_loss, history, entries }
    }
}
