//! The identifier of a message.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;

/// A start of a program: a number that no other start has. Its text is 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Boot(pub u64);

impl Boot {
    /// Returns the number of a start now.
    pub fn random() -> Self {
        // The keys of a hash map are random in each process; the time and the process tell two of them apart even where they are not.
        Self(RandomState::new().hash_one((crate::link_state::now_ns(), std::process::id())))
    }
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Boot {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        u64::from_str_radix(text, 16).ok().filter(|_| is_hex).map(Self).ok_or(NotAnId)
    }
}

impl Serialize for Boot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Boot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The identifier of a message. A message that is sent again has the same. Its text is `NODE/BOOT/SEQUENCE`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageId {
    /// The node that sends it, or that it is for.
    pub node: String,
    /// The sender's start.
    pub boot: Boot,
    /// The number of the message: later messages of a start have larger numbers, from 1 on; 0 where order does not matter and a second one
    /// does no harm.
    pub sequence: u64,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.node, self.boot, self.sequence)
    }
}

impl FromStr for MessageId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let mut parts = text.rsplitn(3, '/');
        let mut part = || parts.next().ok_or(NotAnId);
        let sequence = part()?.parse().map_err(|_| NotAnId)?;
        let boot = part()?.parse()?;
        Ok(Self { node: part()?.to_owned(), boot, sequence })
    }
}

/// A text that is no [`MessageId`] or [`Boot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnId;

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not the identifier of a message: NODE/BOOT/SEQUENCE, where BOOT has 16 hexadecimal digits",
        )
    }
}

impl std::error::Error for NotAnId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_what_was_written() {
        for node in ["Node1", "", "a/b", "\u{202e}x"] {
            let id = MessageId { node: node.to_owned(), boot: Boot(0xab), sequence: u64::MAX };
            assert_eq!(id.to_string().parse(), Ok(id.clone()));
            let json = serde_json::to_string(&id).expect("JSON");
            assert!(json.contains(r#""boot":"00000000000000ab""#), "{json}");
            assert_eq!(serde_json::from_str::<MessageId>(&json).expect("an id"), id);
        }
        for text in
            ["", "a/b/c", "a/00000000000000ab", "a/ab/1", "a/00000000000000AB/1", "a/+0000000000000ab/1"]
        {
            assert_eq!(text.parse::<MessageId>(), Err(NotAnId), "{text}");
        }
        assert_ne!(Boot::random(), Boot::random());
    }
}
