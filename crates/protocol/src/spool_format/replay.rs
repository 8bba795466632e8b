//! The messages of a file that are left after all that it says of them.

use super::{NodeMessageId, SpoolMismatch, SpoolReader, SpoolRecord, SpoolTotals, Unread};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};

/// A message that is to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledMessage {
    /// The identifier of the message.
    pub which: NodeMessageId,
    /// True if the message is the result of a window.
    pub is_result: bool,
    /// The compressed body.
    pub body: Vec<u8>,
    /// The `after` and `lost` of the message's envelope, if it may have been sent.
    pub said: Option<(u64, u64)>,
}

/// The messages of a file that are to be delivered.
#[derive(Debug, Default)]
pub struct Replay {
    /// The messages in the order of the file.
    messages: BTreeMap<u64, SpooledMessage>,
    places: HashMap<NodeMessageId, u64>,
    bytes: u64,
    next: u64,
    totals: SpoolTotals,
    unread: Unread,
    /// The end of what was read.
    end: u64,
}

impl Replay {
    /// Reads a file, up to its end, or until the messages exceed a number of bytes.
    ///
    /// # Errors
    /// If the file cannot be read. The inner error says why it is not this node's spool.
    pub fn read(from: impl Read, node: &str, most_bytes: u64) -> io::Result<Result<Self, SpoolMismatch>> {
        let mut reader = match SpoolReader::new(from, node)? {
            Ok(reader) => reader,
            Err(foreign) => return Ok(Err(foreign)),
        };
        let mut replay = Self::default();
        let mut end = reader.at();
        let mut is_full = false;
        while let Some(record) = reader.next_record()? {
            replay.apply(record);
            if replay.bytes > most_bytes {
                is_full = true;
                break;
            }
            end = reader.at();
        }
        replay.unread = reader.unread().clone();
        if is_full {
            replay.unread.from = Some(end);
        }
        replay.end = end;
        Ok(Ok(replay))
    }

    fn apply(&mut self, record: SpoolRecord) {
        match record {
            SpoolRecord::Message { which, is_result, body } => {
                self.bytes += body.len() as u64;
                match self.places.get(&which).and_then(|place| self.messages.get_mut(place)) {
                    Some(kept) => {
                        self.bytes -= kept.body.len() as u64;
                        kept.body = body;
                    }
                    None => {
                        self.places.insert(which, self.next);
                        self.messages
                            .insert(self.next, SpooledMessage { which, is_result, body, said: None });
                        self.next += 1;
                    }
                }
            }
            SpoolRecord::Said { which, after, lost } => {
                let place = self.places.get(&which);
                if let Some(kept) = place.and_then(|place| self.messages.get_mut(place)) {
                    kept.said = Some((after, lost));
                }
            }
            SpoolRecord::Gone { which, totals } => {
                let place = self.places.remove(&which);
                if let Some(kept) = place.and_then(|place| self.messages.remove(&place)) {
                    self.bytes -= kept.body.len() as u64;
                }
                self.totals = totals;
            }
            SpoolRecord::Totals(totals) => self.totals = totals,
        }
    }

    /// The totals of the file.
    pub fn totals(&self) -> SpoolTotals {
        self.totals
    }

    /// Returns what could not be read.
    pub fn unread(&self) -> &Unread {
        &self.unread
    }

    /// Returns the place where the next record goes, if all was read.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the messages, the oldest first.
    pub fn into_kept(self) -> Vec<SpooledMessage> {
        let mut kept: Vec<SpooledMessage> = self.messages.into_values().collect();
        let all: HashSet<NodeMessageId> = kept.iter().map(|one| one.which).collect();
        for one in &mut kept {
            if let Some((after, _)) = &mut one.said {
                // That one is delivered, or damaged: nobody may wait for it.
                if !all.contains(&NodeMessageId { sequence: *after, ..one.which }) {
                    *after = 0;
                }
            }
        }
        kept
    }
}
