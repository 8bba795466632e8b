//! The part of an outbox that its file does not have yet.

use super::spool_log::StoredMessage;
use crate::spool_format::{NodeMessageId, SpoolRecord, SpoolTotals};
use std::collections::BTreeSet;

/// The part of an outbox that its file does not have yet. Messages are known by their places in the outbox.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    /// Messages that the file does not have.
    pub(super) messages: BTreeSet<u64>,
    /// Messages for which the file does not have what their envelopes say.
    pub(super) said: BTreeSet<u64>,
    /// Messages that the file has and the outbox has no more, and the totals then.
    pub(super) gone: Vec<(NodeMessageId, SpoolTotals)>,
    /// True if the file does not have the totals as they are.
    pub(super) totals: bool,
}

impl Unwritten {
    pub(super) fn is_empty(&self) -> bool {
        let Self { messages, said, gone, totals } = self;
        messages.is_empty() && said.is_empty() && gone.is_empty() && !totals
    }
}

/// The records that are to be appended at once.
#[derive(Debug, Default)]
pub(super) struct AppendBatch {
    pub(super) messages: Vec<StoredMessage>,
    pub(super) gone: Vec<(NodeMessageId, SpoolTotals)>,
    pub(super) totals: Option<SpoolTotals>,
    /// Messages that may be sent once this is written: their places, and what their envelopes say.
    pub(super) said: Vec<(u64, NodeMessageId, u64, u64)>,
}

impl AppendBatch {
    /// The records.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let Self { messages, gone, totals, said } = self;
        messages.iter().for_each(|message| message.write(into));
        gone.iter().for_each(|(which, totals)| {
            SpoolRecord::Gone { which: *which, totals: *totals }.write(into);
        });
        totals.iter().for_each(|totals| SpoolRecord::Totals(*totals).write(into));
        for (_, which, after, lost) in said {
            SpoolRecord::Said { which: *which, after: *after, lost: *lost }.write(into);
        }
    }
}
