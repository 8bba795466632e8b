//! The file of a probe's spool: a log of records, each with its length and its checksum.
//!
//! ```text
//! file   = magic "EdSpool\n" · version u32 · length of the node's name u16 · the name · CRC-32 of all that u32 · records
//! record = length of the rest u32 · CRC-32 of length and rest u32 · kind u8 · fields
//! ```
//!
//! Numbers are little-endian. A record that was written is never changed: what a message's envelope says, and that it is delivered or
//! dropped, are records of their own. What was cut off while it was written has no end or no checksum; all before it can be read.

mod reader;
mod replay;

pub use reader::{SpoolReader, Unread};
pub use replay::{Replay, SpooledMessage};

use crate::{Boot, envelope};
use std::fmt;

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"EdSpool\n";
/// The version of the format.
const VERSION: u32 = 1;
/// The bytes of a record's length and checksum.
const FRAME: usize = 8;
/// The largest rest of a record: a message, and what says which one it is.
const MOST_REST: usize = envelope::MOST_BYTES + 64;

/// The identifier of a message among those of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeMessageId {
    /// The start of the probe that made it.
    pub boot: Boot,
    /// The message's number among those of that start.
    pub sequence: u64,
}

/// The counts of results that found no room, since the file was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoolTotals {
    /// Results that were dropped.
    pub dropped: u64,
    /// Results of which rows were left out.
    pub shortened: u64,
}

/// A record of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpoolRecord {
    /// A message is to be delivered; one that is there already gets another body.
    Message {
        /// The message.
        which: NodeMessageId,
        /// True if the message is the result of a window.
        is_result: bool,
        /// The compressed body.
        body: Vec<u8>,
    },
    /// A message is about to be sent, with this in its envelope.
    Said {
        /// The message.
        which: NodeMessageId,
        /// [`crate::Envelope::after`].
        after: u64,
        /// [`crate::Envelope::lost`].
        lost: u64,
    },
    /// A message is delivered, or dropped.
    Gone {
        /// The message.
        which: NodeMessageId,
        /// The totals from then on.
        totals: SpoolTotals,
    },
    /// The totals are these.
    Totals(SpoolTotals),
}

const MESSAGE: u8 = 1;
const SAID: u8 = 2;
const GONE: u8 = 3;
const TOTALS: u8 = 4;

/// Adds the begin of a node's file.
pub fn write_header(node: &str, into: &mut Vec<u8>) {
    let from = into.len();
    into.extend_from_slice(&MAGIC);
    into.extend_from_slice(&VERSION.to_le_bytes());
    // Names are short: `amqp` refuses others.
    let node = &node.as_bytes()[..node.len().min(usize::from(u16::MAX))];
    into.extend_from_slice(&(node.len() as u16).to_le_bytes());
    into.extend_from_slice(node);
    let checksum = crc32fast::hash(&into[from..]);
    into.extend_from_slice(&checksum.to_le_bytes());
}

/// Adds the record of a message.
pub fn write_message(which: NodeMessageId, is_result: bool, body: &[u8], into: &mut Vec<u8>) {
    record(into, MESSAGE, |rest| {
        put_which(which, rest);
        rest.push(u8::from(is_result));
        rest.extend_from_slice(body);
    });
}

impl SpoolRecord {
    /// Adds the record.
    pub fn write(&self, into: &mut Vec<u8>) {
        match self {
            Self::Message { which, is_result, body } => write_message(*which, *is_result, body, into),
            Self::Said { which, after, lost } => record(into, SAID, |rest| {
                put_which(*which, rest);
                [after, lost].into_iter().for_each(|number| rest.extend_from_slice(&number.to_le_bytes()));
            }),
            Self::Gone { which, totals } => record(into, GONE, |rest| {
                put_which(*which, rest);
                put_totals(*totals, rest);
            }),
            Self::Totals(totals) => record(into, TOTALS, |rest| put_totals(*totals, rest)),
        }
    }

    /// Reads what follows length and checksum.
    fn read(rest: &[u8]) -> Option<Self> {
        let (kind, mut rest) = rest.split_first()?;
        let rest = &mut rest;
        let read = match *kind {
            MESSAGE => {
                let which = take_which(rest)?;
                let (flag, body) = rest.split_first()?;
                let is_result = [false, true].get(usize::from(*flag)).copied()?;
                let body = body.to_vec();
                *rest = &[];
                Self::Message { which, is_result, body }
            }
            SAID => Self::Said { which: take_which(rest)?, after: take(rest)?, lost: take(rest)? },
            GONE => Self::Gone { which: take_which(rest)?, totals: take_totals(rest)? },
            TOTALS => Self::Totals(take_totals(rest)?),
            _ => return None,
        };
        rest.is_empty().then_some(read)
    }
}

fn record(into: &mut Vec<u8>, kind: u8, fields: impl FnOnce(&mut Vec<u8>)) {
    let from = into.len();
    into.extend_from_slice(&[0; FRAME]);
    into.push(kind);
    fields(into);
    let length = (into.len() - from - FRAME) as u32;
    let checksum = checksum(length, &into[from + FRAME..]);
    into[from..from + 4].copy_from_slice(&length.to_le_bytes());
    into[from + 4..from + FRAME].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(length: u32, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(rest);
    hasher.finalize()
}

fn put_which(which: NodeMessageId, into: &mut Vec<u8>) {
    into.extend_from_slice(&which.boot.0.to_le_bytes());
    into.extend_from_slice(&which.sequence.to_le_bytes());
}

fn put_totals(totals: SpoolTotals, into: &mut Vec<u8>) {
    into.extend_from_slice(&totals.dropped.to_le_bytes());
    into.extend_from_slice(&totals.shortened.to_le_bytes());
}

fn take(from: &mut &[u8]) -> Option<u64> {
    let (number, rest) = from.split_first_chunk::<8>()?;
    *from = rest;
    Some(u64::from_le_bytes(*number))
}

fn take_which(from: &mut &[u8]) -> Option<NodeMessageId> {
    Some(NodeMessageId { boot: Boot(take(from)?), sequence: take(from)? })
}

fn take_totals(from: &mut &[u8]) -> Option<SpoolTotals> {
    Some(SpoolTotals { dropped: take(from)?, shortened: take(from)? })
}

/// The reason why a file is not the spool of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpoolMismatch {
    /// The file is no spool, or its first bytes are damaged.
    NoSpool,
    /// The file is of another version of the format.
    Version(u32),
    /// The file is another node's.
    Node(String),
}

impl fmt::Display for SpoolMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSpool => f.write_str("it does not begin as a spool does"),
            Self::Version(version) => write!(
                f,
                "it is a spool of version {version}, and this program knows version {VERSION}: let the program that wrote it deliver it, or name another file"
            ),
            Self::Node(node) => write!(f, "it is the spool of node {node:?}: name another file"),
        }
    }
}

impl std::error::Error for SpoolMismatch {}

#[cfg(test)]
mod tests;
