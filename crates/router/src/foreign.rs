//! Datagrams of protocols that are not read: their protocols and their senders.

use std::fmt;
use std::net::SocketAddr;

/// The most senders that are told.
const MOST: usize = 16;

/// A protocol that is recognised, and not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Protocol {
    /// sFlow version 2 or 4.
    SFlow,
    /// NetFlow v1.
    NetFlow1,
    /// NetFlow v7.
    NetFlow7,
    /// NetFlow v8.
    NetFlow8,
}

impl Protocol {
    /// The protocol of a datagram.
    pub(crate) fn detect(octets: &[u8]) -> Option<Self> {
        let number =
            |at: usize| octets.get(at..at + 4).map(|of| u32::from_be_bytes([of[0], of[1], of[2], of[3]]));
        // A version of 32 bits, and the kind of the agent's address: IPv4 or IPv6.
        if matches!((number(0), number(4)), (Some(2 | 4), Some(1 | 2))) {
            return Some(Self::SFlow);
        }
        match octets {
            [0, 1, ..] => Some(Self::NetFlow1),
            [0, 7, ..] => Some(Self::NetFlow7),
            [0, 8, ..] => Some(Self::NetFlow8),
            _ => None,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SFlow => "sFlow v2 or v4",
            Self::NetFlow1 => "NetFlow v1",
            Self::NetFlow7 => "NetFlow v7",
            Self::NetFlow8 => "NetFlow v8",
        })
    }
}

/// A sender of what is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignSender {
    /// The protocol that the sender sends; `None` where that is not recognised.
    pub protocol: Option<Protocol>,
    /// The address and port of the sender.
    pub from: SocketAddr,
}

/// Senders of what is not read, of which each is told once.
#[derive(Debug, Default)]
pub(crate) struct Foreigners {
    known: Vec<ForeignSender>,
    told: usize,
}

impl Foreigners {
    /// Takes note of a sender. Ports change: those of an address are one.
    pub(crate) fn add(&mut self, sender: ForeignSender) {
        let is_same =
            |known: &ForeignSender| known.protocol == sender.protocol && known.from.ip() == sender.from.ip();
        if self.known.len() < MOST && !self.known.iter().any(is_same) {
            self.known.push(sender);
        }
    }

    /// Takes the senders that were not told.
    pub(crate) fn take(&mut self) -> &[ForeignSender] {
        let first = std::mem::replace(&mut self.told, self.known.len());
        &self.known[first..]
    }
}
