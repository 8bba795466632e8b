//! The list of each node, and whether the broker has it.

use super::outbox::Outgoing;
use crate::{Boot, Envelope, ListId, MessageId, TaskList, ToProbe};

/// The newest list of each node. What was not sent before a newer one came is never sent.
#[derive(Debug)]
pub(super) struct TaskLists {
    nodes: Vec<(String, Option<TaskListSlot>)>,
    boot: Boot,
    sequence: u64,
}

#[derive(Debug)]
struct TaskListSlot {
    list: TaskList,
    is_sent: bool,
}

/// A list that is to be sent.
#[derive(Debug)]
pub(super) struct Unsent {
    pub(super) node: usize,
    pub(super) list: ListId,
    pub(super) outgoing: Outgoing,
}

impl TaskLists {
    pub(super) fn new(nodes: &[String], boot: Boot) -> Self {
        Self { nodes: nodes.iter().map(|node| (node.clone(), None)).collect(), boot, sequence: 0 }
    }

    /// Takes a list to be sent, also one that was sent before. False if there is no such node.
    pub(super) fn put(&mut self, node: usize, list: TaskList) -> bool {
        let Some((_, slot)) = self.nodes.get_mut(node) else { return false };
        if slot.as_ref().is_none_or(|slot| !slot.list.is_newer_than(&list)) {
            *slot = Some(TaskListSlot { list, is_sent: false });
        }
        true
    }

    /// Marks all lists as unsent, because the broker may have lost them.
    pub(super) fn rewind(&mut self) {
        self.nodes.iter_mut().filter_map(|(_, slot)| slot.as_mut()).for_each(|slot| slot.is_sent = false);
    }

    /// Returns the lists that are to be sent.
    pub(super) fn unsent(&mut self) -> Vec<Unsent> {
        let Self { nodes, boot, sequence } = self;
        let unsent = nodes.iter().enumerate().filter_map(|(node, (name, slot))| {
            let list = slot.as_ref().filter(|slot| !slot.is_sent)?.list.clone();
            *sequence += 1;
            let id = MessageId { node: name.clone(), boot: *boot, sequence: *sequence };
            let known = list.id();
            // A query can always be written.
            let bytes = Envelope::new(id.clone(), ToProbe::Tasks(list)).encode().ok()?;
            Some(Unsent { node, list: known, outgoing: Outgoing { id, bytes } })
        });
        unsent.collect()
    }

    /// The broker has this one.
    pub(super) fn sent(&mut self, node: usize, list: ListId) {
        if let Some((_, Some(slot))) = self.nodes.get_mut(node) {
            slot.is_sent |= slot.list.id() == list;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_list_is_sent() {
        let list = |generation| TaskList { generation, ..TaskList::default() };
        let mut lists = TaskLists::new(&["A".to_owned(), "B".to_owned()], Boot(1));
        assert!(
            lists.put(0, list(1)) && lists.put(1, list(2)) && lists.put(0, list(3)) && !lists.put(2, list(4))
        );
        assert!(lists.put(0, list(1)));
        let unsent = |lists: &mut TaskLists| -> Vec<_> {
            lists.unsent().iter().map(|one| (one.node, one.list.generation)).collect()
        };
        assert_eq!(unsent(&mut lists), [(0, 3), (1, 2)]);
        lists.put(1, list(5));
        // What the broker confirms is an older one.
        lists.sent(1, list(2).id());
        lists.sent(0, list(3).id());
        assert_eq!(unsent(&mut lists), [(1, 5)]);
        lists.sent(1, list(5).id());
        assert_eq!(unsent(&mut lists), []);
        lists.put(0, list(3));
        assert_eq!(unsent(&mut lists), [(0, 3)]);
        lists.rewind();
        assert_eq!(unsent(&mut lists), [(0, 3), (1, 5)]);
    }
}
