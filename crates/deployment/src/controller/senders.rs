//! The starts of a probe that send under the name of a node: two at a time are two probes with one name.

use protocol::{Boot, MessageId};
use std::collections::BTreeMap;

/// The time for which two probes are not told of again, nanoseconds.
const QUIET_NS: u64 = 600_000_000_000;

/// The starts that send, by node.
#[derive(Debug, Default)]
pub(super) struct Senders(BTreeMap<String, SenderBoots>);

#[derive(Debug)]
struct SenderBoots {
    last: Boot,
    /// The one before: once another has sent, a start sends no more.
    before: Option<Boot>,
    said_ns: Option<u64>,
}

impl Senders {
    /// Takes note of a message that comes for the first time. Returns what is to be said: its start has sent before the last one did, which a probe
    /// that is started again never does.
    pub(super) fn take(&mut self, id: &MessageId, now_ns: u64) -> Option<String> {
        let Some(sender) = self.0.get_mut(&id.node) else {
            self.0.insert(id.node.clone(), SenderBoots { last: id.boot, before: None, said_ns: None });
            return None;
        };
        if sender.last == id.boot {
            return None;
        }
        let is_back = sender.before == Some(id.boot);
        sender.before = Some(std::mem::replace(&mut sender.last, id.boot));
        let is_new = sender.said_ns.is_none_or(|said| now_ns.saturating_sub(said) >= QUIET_NS);
        if !is_back || !is_new {
            return None;
        }
        sender.said_ns = Some(now_ns);
        Some(format!(
            "two probes send as {0}: its answers are those of both, one of them late; give one another name (node = \"{0}\" in its settings)",
            id.node
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_starts_again_is_one_and_two_that_take_turns_are_told_once() {
        let mut senders = Senders::default();
        let boots = [Boot::random(), Boot::random(), Boot::random()];
        let mut take = |boot: usize, now_ns: u64| {
            let id = MessageId { node: "Node1".to_owned(), boot: boots[boot], sequence: 1 };
            senders.take(&id, now_ns).is_some()
        };
        assert_eq!([0, 0, 1, 1, 2, 2].map(|boot| take(boot, 0)), [false; 6]);
        // The second and the third take turns.
        assert_eq!([1, 2, 1, 2].map(|boot| take(boot, 1)), [true, false, false, false]);
        assert!(take(1, 1 + QUIET_NS));
    }
}
