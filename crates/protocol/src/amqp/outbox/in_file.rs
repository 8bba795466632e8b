//! The file of an outbox: what the thread that writes it asks and tells.

use super::{EnvelopeValues, MOST_IN_FLIGHT, ProbeOutbox};
use crate::amqp::spool_log::StoredMessage;
use crate::amqp::unwritten::{AppendBatch, Unwritten};
use crate::spool_format::SpoolTotals;
use std::time::Instant;

/// The most that is written to the file at once, bytes of messages.
const MOST_BATCH: usize = 4 << 20;

/// The file of an outbox, as far as the outbox knows of it.
#[derive(Debug, Default)]
pub(super) struct InFile {
    pub(super) unwritten: Unwritten,
    /// The time since which messages wait until the file has what their envelopes say.
    pub(super) waiting: Option<Instant>,
    /// True if what was written may still be lost with the machine.
    pub(super) is_unsynced: bool,
    /// True if the file takes what it is told.
    pub(super) is_working: bool,
    /// The reason why the file takes nothing, until it does again.
    pub(super) fault: Option<String>,
}

impl ProbeOutbox {
    /// Returns true if there is a file that takes what it is told.
    pub(in crate::amqp) fn is_file_working(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.is_working)
    }

    /// Returns true if the file is to be told something.
    pub(in crate::amqp) fn is_unwritten(&self) -> bool {
        self.file.as_ref().is_some_and(|file| !file.unwritten.is_empty())
    }

    /// Returns true if all is in the file, for good. Never without a file.
    pub(in crate::amqp) fn is_saved(&self) -> bool {
        let is_saved = |file: &InFile| file.is_working && file.unwritten.is_empty() && !file.is_unsynced;
        self.file.as_ref().is_some_and(is_saved)
    }

    /// Takes the next batch of what the file is to be told.
    pub(in crate::amqp) fn take_batch(&mut self) -> AppendBatch {
        let mut batch = AppendBatch::default();
        let totals = self.totals;
        let Some(file) = self.file.as_mut() else { return batch };
        file.is_unsynced = true;
        let unwritten = &mut file.unwritten;
        batch.gone = std::mem::take(&mut unwritten.gone);
        batch.totals = std::mem::take(&mut unwritten.totals).then_some(totals);
        let mut bytes = 0;
        while bytes < MOST_BATCH {
            let Some(place) = unwritten.messages.pop_first() else { break };
            let Ok(at) = self.items.binary_search_by_key(&place, |item| item.place) else { continue };
            let item = &mut self.items[at];
            item.is_in_file = true;
            bytes += item.body.len();
            batch.messages.push(item.stored(false));
        }
        // Only of messages that it has.
        let first = unwritten.messages.first().copied().unwrap_or(u64::MAX);
        let later = unwritten.said.split_off(&first);
        for place in std::mem::replace(&mut unwritten.said, later) {
            let Ok(at) = self.items.binary_search_by_key(&place, |item| item.place) else { continue };
            let item = &self.items[at];
            if let Some(EnvelopeValues { after, lost }) = item.said {
                batch.said.push((place, item.which, after, lost));
            }
        }
        batch
    }

    /// Notes that the file has this batch.
    pub(in crate::amqp) fn has_written(&mut self, batch: &AppendBatch) {
        for (place, ..) in &batch.said {
            if let Ok(at) = self.items.binary_search_by_key(place, |item| item.place) {
                self.items[at].may_go = true;
            }
        }
        if let Some(file) = &mut self.file {
            file.waiting = (!file.unwritten.said.is_empty()).then(Instant::now);
        }
    }

    /// Notes that the content of the file is there for good.
    pub(in crate::amqp) fn has_synced(&mut self) {
        if let Some(file) = &mut self.file {
            file.is_unsynced = false;
        }
    }

    /// Takes all messages, for a file that is written anew; what comes from now on it is told after that.
    pub(in crate::amqp) fn take_all(&mut self) -> (Vec<StoredMessage>, SpoolTotals) {
        if let Some(file) = &mut self.file {
            *file = InFile {
                waiting: Some(Instant::now()),
                is_unsynced: true,
                is_working: true,
                fault: file.fault.take(),
                ..InFile::default()
            };
        }
        let all = self.items.iter_mut().map(|item| {
            item.is_in_file = true;
            item.stored(true)
        });
        (all.collect(), self.totals)
    }

    /// The file is written anew.
    pub(in crate::amqp) fn has_rewritten(&mut self) {
        let later = self.file.as_ref().map(|file| file.unwritten.said.clone()).unwrap_or_default();
        let said = self.items.iter_mut().take(MOST_IN_FLIGHT).filter(|item| item.said.is_some());
        said.for_each(|item| item.may_go |= !later.contains(&item.place));
        if let Some(file) = &mut self.file {
            file.fault = None;
            file.waiting = (!file.unwritten.said.is_empty()).then(Instant::now);
        }
        self.has_synced();
    }

    /// The file takes nothing any more. `count`: messages that it was just told.
    pub(in crate::amqp) fn has_failed(&mut self, reason: String, count: usize) {
        let Some(file) = &mut self.file else { return };
        let unwritten = file.unwritten.messages.len();
        *file = InFile { fault: Some(reason), ..InFile::default() };
        self.unwritten += (unwritten + count) as u64;
        self.items.iter_mut().for_each(|item| {
            item.is_in_file = false;
            item.may_go |= item.said.is_some();
        });
    }
}
