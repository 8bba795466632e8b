//! The form of titles.

use serde::{Deserialize, Serialize};

/// A part of a title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TitlePart {
    /// A text, as it is.
    Text(String),
    /// The value of an item of what fired, by number.
    Item(usize),
    /// The key that fired, as ` for dst_addr 192.0.2.7`; nothing where all is one group.
    Key,
    /// The name of the node that fired.
    Node,
}

/// The form of the titles of a query's firings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TitleForm {
    /// The parts, in order; none where firings have no title.
    pub parts: Vec<TitlePart>,
    /// True if the query's text has it (`say`), false if it is the condition in words.
    pub is_said: bool,
}

impl TitleForm {
    /// The numbers of the items that it has, in order.
    pub(crate) fn items(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            TitlePart::Item(item) => Some(*item),
            _ => None,
        })
    }
}
