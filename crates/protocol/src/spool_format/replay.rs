//! The messages of a file that are left after all that it says of them.

use super::{Foreign, Reader, Record, Totals, Unread, Which};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};

/// A message that is to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The identifier of the message.
    pub which: Which,
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
    messages: BTreeMap<u64, Kept>,
    places: HashMap<Which, u64>,
    bytes: u64,
    next: u64,
    totals: Totals,
    unread: Unread,
    /// The end of what was read.
    end: u64,
}

impl Replay {
    /// Reads a file, up to its end, or until the messages exceed a number of bytes.
    ///
    /// # Errors
    /// If the file cannot be read. The inner error says why it is not this node's spool.
    pub fn of(from: impl Read, node: &str, most_bytes: u64) -> io::Result<Result<Self, Foreign>> {
        let mut reader = match Reader::new(from, node)? {
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

    fn apply(&mut self, record: Record) {
        match record {
            Record::Message { which, is_result, body } => {
                self.bytes += body.len() as u64;
                match self.places.get(&which).and_then(|place| self.messages.get_mut(place)) {
                    Some(kept) => {
                        self.bytes -= kept.body.len() as u64;
                        kept.body = body;
                    }
                    None => {
                        self.places.insert(which, self.next);
                        self.messages.insert(self.next, Kept { which, is_result, body, said: None });
                        self.next += 1;
                    }
                }
            }
            Record::Said { which, after, lost } => {
                let place = self.places.get(&which);
                if let Some(kept) = place.and_then(|place| self.messages.get_mut(place)) {
                    kept.said = Some((after, lost));
                }
            }
            Record::Gone { which, totals } => {
                let place = self.places.remove(&which);
                if let Some(kept) = place.and_then(|place| self.messages.remove(&place)) {
                    self.bytes -= kept.body.len() as u64;
                }
                self.totals = totals;
            }
            Record::Totals(totals) => self.totals = totals,
        }
    }

    /// The totals of the file.
    pub fn totals(&self) -> Totals {
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
    pub fn into_kept(self) -> Vec<Kept> {
        let mut kept: Vec<Kept> = self.messages.into_values().collect();
        let all: HashSet<Which> = kept.iter().map(|one| one.which).collect();
        for one in &mut kept {
            if let Some((after, _)) = &mut one.said {
                // That one is delivered, or damaged: nobody may wait for it.
                if !all.contains(&Which { sequence: *after, ..one.which }) {
                    *after = 0;
                }
            }
        }
        kept
    }
}
