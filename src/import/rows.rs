//! Window rows into a store.

use engine::RowOutput;
use flow::{LossCounts, WindowRow};
use history::replay::{FinishedWindow, NodeRecording, Replayed, WindowSink};
use packet::{KeyV4, KeyV6};
use runtime::assembly::row_store::RowStore;
use runtime::recorded;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use store::{RowFeed, StoreWriter};
use task::rows::Unplaced;

/// Rows that are handed over at once.
const BLOCK: usize = 4096;

/// Takes the rows of a node.
pub(super) struct RowImport<'a> {
    output: RowStore,
    v4: flow::Rows<KeyV4>,
    v6: flow::Rows<KeyV6>,
    start_ns: u64,
    window_ns: u64,
    index: u64,
    /// Rows that went into it.
    given: u64,
    stop: &'a AtomicBool,
}

impl<'a> RowImport<'a> {
    pub(super) fn new(store: &Arc<StoreWriter>, feed: RowFeed, window_ns: u64, stop: &'a AtomicBool) -> Self {
        Self {
            output: RowStore::new(Arc::clone(store), feed),
            v4: flow::Rows::default(),
            v6: flow::Rows::default(),
            start_ns: 0,
            window_ns,
            index: 0,
            given: 0,
            stop,
        }
    }

    /// Takes all rows of a recording. Returns what was read, and how many rows that made: those of one key and window are one.
    pub(super) fn take(mut self, recording: NodeRecording) -> (Replayed, u64) {
        let replayed = recording.replay(&mut self);
        // It counts itself what it does not take.
        let _ = Box::new(self.output).finish(&Unplaced::default());
        (replayed, self.given)
    }

    fn hand_over(&mut self) {
        self.given += (self.v4.len() + self.v6.len()) as u64;
        // Likewise.
        let _ = self.output.write_v4(self.start_ns, &self.v4);
        let _ = self.output.write_v6(self.start_ns, &self.v6);
        self.v4.clear();
        self.v6.clear();
    }
}

impl WindowSink for RowImport<'_> {
    fn enter(&mut self, start_ns: u64) -> bool {
        self.start_ns = start_ns;
        !self.stop.load(Relaxed)
    }

    fn row_v4(&mut self, row: WindowRow<KeyV4>, loss: Option<&LossCounts>) {
        self.v4.push(row, loss);
        if self.v4.len() == BLOCK {
            self.hand_over();
        }
    }

    fn row_v6(&mut self, row: WindowRow<KeyV6>, loss: Option<&LossCounts>) {
        self.v6.push(row, loss);
        if self.v6.len() == BLOCK {
            self.hand_over();
        }
    }

    fn close(&mut self, window: FinishedWindow) -> bool {
        self.hand_over();
        let (incomplete, of_records) = (!window.lacks.is_empty(), window.of_records);
        let missing = window.missing_rows;
        let closed = recorded::closed(window, self.window_ns, self.index, missing);
        self.output.close(&closed, incomplete, of_records);
        self.index += 1;
        !self.stop.load(Relaxed)
    }
}
