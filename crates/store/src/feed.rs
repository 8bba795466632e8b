//! Feeds, by which measuring hands over what is to be stored. A feed never waits for the disk, unless its source can wait.

use crate::budget::Budget;
use crate::message::WriterMessage;
use crate::shared::StoreState;
use flow::{FlowRecord, More, Rows};
use packet::{KeyV4, KeyV6};
use record::{RecordWriter, WindowFacts, WriterReport};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};

/// The way to the thread that writes, of one node.
#[derive(Clone)]
pub(crate) struct FeedChannel {
    pub(crate) shared: Arc<StoreState>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) sender: Sender<WriterMessage>,
    pub(crate) node: usize,
    pub(crate) waits: bool,
}

impl FeedChannel {
    /// Waits until everything is written that came before. If the thread has failed, there is nothing to wait for.
    fn end(&self, message: impl FnOnce(usize, Sender<()>) -> WriterMessage) {
        let (sender, ended) = channel();
        if self.sender.send(message(self.node, sender)).is_ok() {
            // The other half is dropped when it is done.
            let _ = ended.recv();
        }
    }
}

/// Takes window rows of one node.
pub struct RowFeed(pub(crate) FeedChannel);

impl RowFeed {
    /// Takes rows of IPv4 of the window that begins then. Returns how many could not be taken.
    pub fn write_v4(&mut self, start_ns: u64, rows: &Rows<KeyV4>) -> u64 {
        self.write(rows, |node, rows, bytes| WriterMessage::V4(node, start_ns, rows, bytes))
    }

    /// Takes rows of IPv6.
    pub fn write_v6(&mut self, start_ns: u64, rows: &Rows<KeyV6>) -> u64 {
        self.write(rows, |node, rows, bytes| WriterMessage::V6(node, start_ns, rows, bytes))
    }

    fn write<K: Copy>(
        &self,
        rows: &Rows<K>,
        message: impl FnOnce(usize, Rows<K>, usize) -> WriterMessage,
    ) -> u64 {
        if rows.is_empty() {
            return 0;
        }
        let FeedChannel { shared, budget, sender, node, waits } = &self.0;
        let bytes = size_of_val(&rows.rows[..]) + size_of_val(&rows.losses[..]);
        let mut copy = Rows::<K>::with_capacity(rows.rows.len(), rows.losses.len());
        if budget.take(bytes, *waits) {
            copy.rows.extend_from_slice(&rows.rows);
            copy.losses.extend_from_slice(&rows.losses);
            if sender.send(message(*node, copy, bytes)).is_ok() {
                return 0;
            }
        }
        shared.tally.rows.behind.fetch_add(rows.len() as u64, Relaxed);
        rows.len() as u64
    }

    /// Takes note that all rows of a window have been taken. `empty_before`: the number of windows before it without a packet.
    pub fn close(&mut self, start_ns: u64, facts: WindowFacts, empty_before: u64) {
        // One message a window: they need no budget. If the thread has failed, nothing is stored.
        let _ =
            self.0.sender.send(WriterMessage::Closed(self.0.node, start_ns, Box::new(facts), empty_before));
    }

    /// Waits until all rows are written.
    pub fn finish(self) {
        self.0.end(WriterMessage::EndRows);
    }
}

/// Takes flow records of one node.
pub(crate) struct RecordFeed {
    pub(crate) way: FeedChannel,
    /// Records of this node that could not be taken.
    pub(crate) behind: u64,
    /// Records that were refused before it began.
    pub(crate) refused_before: u64,
}

impl RecordWriter for RecordFeed {
    fn write(&mut self, records: &[FlowRecord]) -> io::Result<()> {
        let FeedChannel { shared, budget, sender, node, waits } = &self.way;
        let more = |record: &FlowRecord| match &record.more {
            None => 0,
            Some(more) => size_of::<More>() + more.reverse.as_ref().map_or(0, |_| size_of::<More>()),
        };
        let bytes = size_of_val(records) + records.iter().map(more).sum::<usize>();
        let is_taken = budget.take(bytes, *waits)
            && sender.send(WriterMessage::Records(*node, records.to_vec(), bytes)).is_ok();
        if !is_taken {
            self.behind += records.len() as u64;
            shared.tally.flows.behind.fetch_add(records.len() as u64, Relaxed);
        }
        Ok(())
    }

    fn name(&self) -> String {
        self.way.shared.folder.display().to_string()
    }

    fn dropped(&self) -> u64 {
        self.behind
    }

    fn finish(self: Box<Self>) -> io::Result<WriterReport> {
        self.way.end(WriterMessage::EndRecords);
        let refused = self.way.shared.tally.flows.read().refused - self.refused_before;
        Ok(WriterReport { dropped: self.behind + refused, warnings: Vec::new() })
    }
}
