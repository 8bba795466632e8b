//! The controller's treatment of deliveries: which to hand out, which to refuse, which to acknowledge.

use super::marks::{DeliveryOffsets, SequenceDecision};
use crate::envelope::{self, MOST_JSON_BYTES, Opened, Properties};
use crate::{FromProbe, MessageId, MessageRefusal, ReceivedMessage};
use std::collections::BTreeMap;

/// A message as the broker delivers it.
#[derive(Clone, Debug, Default)]
pub(super) struct BrokerDelivery {
    /// The number of the delivery on its connection.
    pub(super) tag: Tag,
    pub(super) routing_key: String,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    /// The user that the broker vouches for.
    pub(super) user: Option<String>,
    /// True if the body was left out, because no message has one of its size.
    pub(super) is_too_large: bool,
    pub(super) bytes: Vec<u8>,
}

/// The number of a delivery; of another connection it means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) connection: u64,
    pub(super) number: u64,
}

/// An answer to deliveries that the broker is to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryReply {
    /// A delivery up to which all deliveries are done with.
    Done(Tag),
    /// A delivery that is put away where its operator finds it.
    Refused(Tag),
}

/// The nodes, what was taken of each, and what was refused.
#[derive(Debug)]
pub(super) struct DeliveryIntake {
    nodes: BTreeMap<String, (usize, DeliveryOffsets)>,
    /// The controller's own user, who may send for each node, as it may do anything at the broker.
    own_user: String,
    refused: BTreeMap<&'static str, u64>,
    /// The refused messages by reason, for the number of the node whose routing key they had, with which only its user may publish.
    refused_of: Vec<BTreeMap<&'static str, u64>>,
    /// The last delivery that was looked at and is not acknowledged.
    last: Option<Tag>,
    /// True if messages were handed out since the last acknowledgement.
    is_owed: bool,
}

impl DeliveryIntake {
    /// Creates the intake of these nodes. `own_user`: the controller's user. `marks`: the last message that is stored of each start of a
    /// probe.
    pub(super) fn new(nodes: &[String], own_user: &str, marks: &[MessageId]) -> Self {
        let refused_of = vec![BTreeMap::new(); nodes.len()];
        let numbered = nodes.iter().enumerate();
        let mut nodes: BTreeMap<_, _> =
            numbered.map(|(number, node)| (node.clone(), (number, DeliveryOffsets::default()))).collect();
        for id in marks {
            if let Some((_, marks)) = nodes.get_mut(&id.node) {
                marks.begin_after(id);
            }
        }
        let (own_user, refused) = (own_user.to_owned(), BTreeMap::new());
        Self { nodes, own_user, refused, refused_of, last: None, is_owed: false }
    }

    /// Takes a delivery: a message to hand out, and what the broker is to be told at once.
    pub(super) fn take(
        &mut self,
        delivered: &BrokerDelivery,
    ) -> (Option<ReceivedMessage>, Option<DeliveryReply>) {
        match self.read(delivered) {
            Ok(Some(received)) => {
                self.last = Some(delivered.tag);
                // A heartbeat is not stored. Where no stored message before it awaits its acknowledgement, it is acknowledged at once.
                if received.id.is_none() {
                    return (Some(received), self.done_if_nothing_is_owed());
                }
                self.is_owed = true;
                (Some(received), None)
            }
            Ok(None) => {
                self.last = Some(delivered.tag);
                (None, self.done_if_nothing_is_owed())
            }
            Err(refusal) => {
                self.count(refusal.name());
                if let Some((node, _)) = self.nodes.get(&delivered.routing_key) {
                    *self.refused_of[*node].entry(refusal.name()).or_default() += 1;
                }
                (None, Some(DeliveryReply::Refused(delivered.tag)))
            }
        }
    }

    /// An acknowledgement is of all before it too: it has to wait until those are stored.
    fn done_if_nothing_is_owed(&mut self) -> Option<DeliveryReply> {
        if self.is_owed { None } else { self.last.take().map(DeliveryReply::Done) }
    }

    /// Marks all that was handed out as stored.
    pub(super) fn acknowledge(&mut self) -> Option<DeliveryReply> {
        self.is_owed = false;
        self.last.take().map(DeliveryReply::Done)
    }

    pub(super) fn refused(&self) -> BTreeMap<&'static str, u64> {
        self.refused.clone()
    }

    pub(super) fn refused_of(&self, node: usize) -> BTreeMap<&'static str, u64> {
        self.refused_of.get(node).cloned().unwrap_or_default()
    }

    fn count(&mut self, name: &'static str) {
        *self.refused.entry(name).or_default() += 1;
    }

    fn read(&mut self, delivered: &BrokerDelivery) -> Result<Option<ReceivedMessage>, MessageRefusal> {
        let properties = Properties {
            content_type: delivered.content_type.as_deref(),
            content_encoding: delivered.content_encoding.as_deref(),
        };
        if delivered.is_too_large {
            return Err(MessageRefusal::TooLarge);
        }
        let text = envelope::text(&delivered.bytes, properties, MOST_JSON_BYTES)?;
        let Opened { id, after, lost, body, .. } = Opened::parse(&text)?;
        let (node, marks) = self.nodes.get_mut(&id.node).ok_or(MessageRefusal::UnknownNode)?;
        let user = delivered.user.as_ref().ok_or(MessageRefusal::WrongUser)?;
        // A probe's user has the name of its node. Rights at the broker are by routing key: who may not write for a node cannot have sent
        // this under its key.
        let is_its = *user == id.node || *user == self.own_user;
        if !is_its || delivered.routing_key != id.node {
            return Err(MessageRefusal::WrongUser);
        }
        if id.sequence > 0 {
            match marks.take(&id, after) {
                SequenceDecision::Next => {}
                SequenceDecision::Doubled => {
                    self.count("doubled");
                    return Ok(None);
                }
                SequenceDecision::Early => {
                    self.count("early");
                    return Ok(None);
                }
            }
        }
        // Later: what follows a message of this node whose body cannot be read is not early.
        let mut message: FromProbe = envelope::body_of(body)?;
        if let FromProbe::Window(result) = &mut message {
            result.lost = lost;
        }
        // Only heartbeats may come in any order, and twice.
        if (id.sequence == 0) != matches!(message, FromProbe::Heartbeat(_)) {
            return Err(MessageRefusal::Malformed);
        }
        Ok(Some(ReceivedMessage { node: *node, id: (id.sequence > 0).then_some(id), message }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{CONTENT_ENCODING, CONTENT_TYPE};
    use crate::{Boot, Envelope};

    fn id(node: &str, sequence: u64) -> MessageId {
        MessageId { node: node.to_owned(), boot: Boot(7), sequence }
    }

    fn delivered(number: u64, id: MessageId, after: u64) -> BrokerDelivery {
        let body = match id.sequence {
            0 => FromProbe::Heartbeat(Box::default()),
            at_ns => FromProbe::Reached { at_ns },
        };
        BrokerDelivery {
            tag: Tag { connection: 1, number },
            routing_key: id.node.clone(),
            content_type: Some(CONTENT_TYPE.to_owned()),
            content_encoding: Some(CONTENT_ENCODING.to_owned()),
            user: Some(id.node.clone()),
            is_too_large: false,
            bytes: Envelope { after, ..Envelope::new(id, body) }.encode().expect("bytes"),
        }
    }

    fn intake() -> DeliveryIntake {
        DeliveryIntake::new(&["A".to_owned(), "B".to_owned()], "controller", &[id("A", 2), id("gone", 1)])
    }

    fn done(number: u64) -> Option<DeliveryReply> {
        Some(DeliveryReply::Done(Tag { connection: 1, number }))
    }

    #[test]
    fn what_is_not_stored_is_not_acknowledged() {
        let mut intake = intake();
        let mut take = |number, sequence, after| {
            let (received, word) = intake.take(&delivered(number, id("A", sequence), after));
            (received.map(|received| received.id), word)
        };
        // Stored before, and acknowledged at once: nothing is owed.
        assert_eq!(take(1, 2, 0), (None, done(1)));
        assert_eq!(take(2, 3, 2), (Some(Some(id("A", 3))), None));
        assert_eq!(take(3, 3, 2), (None, None));
        assert_eq!(take(4, 5, 4), (None, None));
        assert_eq!(take(5, 0, 0), (Some(None), None));
        assert_eq!(intake.acknowledge(), done(5));
        assert_eq!(intake.acknowledge(), None);
        assert_eq!(intake.take(&delivered(6, id("A", 0), 0)).1, done(6));
        assert_eq!(intake.refused(), BTreeMap::from([("doubled", 2), ("early", 1)]));
    }

    #[test]
    fn what_is_refused_has_a_name() {
        let mut intake = intake();
        let mut number = 0;
        let mut refuse = |change: &dyn Fn(&mut BrokerDelivery), of: MessageId| {
            number += 1;
            let mut one = delivered(number, of, 0);
            change(&mut one);
            let before = intake.refused();
            let (received, word) = intake.take(&one);
            assert_eq!((received, word), (None, Some(DeliveryReply::Refused(one.tag))));
            let after = intake.refused();
            after.into_iter().find(|(name, count)| before.get(name) != Some(count)).map(|(name, _)| name)
        };
        assert_eq!(refuse(&|_| {}, id("C", 1)), Some("unknown_node"));
        assert_eq!(refuse(&|one| one.user = None, id("A", 3)), Some("wrong_user"));
        assert_eq!(refuse(&|one| one.routing_key = "B".to_owned(), id("A", 3)), Some("wrong_user"));
        assert_eq!(refuse(&|one| one.user = Some("A".to_owned()), id("B", 1)), Some("wrong_user"));
        assert_eq!(refuse(&|one| one.content_type = None, id("A", 3)), Some("foreign"));
        assert_eq!(refuse(&|one| one.bytes.truncate(50), id("A", 3)), Some("truncated"));
        assert_eq!(refuse(&|one| one.is_too_large = true, id("A", 3)), Some("too_large"));
        let heartbeat =
            Envelope::new(id("A", 3), FromProbe::Heartbeat(Box::default())).encode().expect("bytes");
        assert_eq!(refuse(&|one| one.bytes.clone_from(&heartbeat), id("A", 3)), Some("malformed"));
        // Of that one the number was taken, so that the next is not early. The controller's own user may send for all.
        let own = BrokerDelivery { user: Some("controller".to_owned()), ..delivered(99, id("A", 4), 3) };
        assert!(intake.take(&own).0.is_some());
        // The routing key identifies the node: only its user may publish with it.
        let of_b = BTreeMap::from([("wrong_user", 2)]);
        assert_eq!((intake.refused_of(1), intake.refused_of(9)), (of_b, BTreeMap::new()));
        assert_eq!(intake.refused_of(0).values().sum::<u64>() + 3, intake.refused().values().sum::<u64>());
    }

    #[test]
    fn results_say_what_was_dropped_before_them() {
        let window = model::Span { start_ns: 0, end_ns: 1 };
        let result = crate::WindowResult::new(window, Vec::new());
        let body = FromProbe::Window(Box::new(result));
        let bytes = Envelope { lost: 9, ..Envelope::new(id("A", 3), body) }.encode().expect("bytes");
        let (received, _) = intake().take(&BrokerDelivery { bytes, ..delivered(1, id("A", 3), 0) });
        let message = received.expect("a message").message;
        assert!(matches!(message, FromProbe::Window(result) if result.lost == 9));
    }
}
