//! The window rows of a node on their way to the store of `--store`.

use crate::assembly::window_tally::WindowTally;
use engine::{ClosedWindow, RowOutput};
use flow::Rows;
use packet::{KeyV4, KeyV6};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use store::{RowFeed, StoreWriter};
use task::rows::Unplaced;

/// Takes window rows of a node.
pub struct RowStore {
    store: Arc<StoreWriter>,
    feed: RowFeed,
    tally: WindowTally,
    /// Rows that were not taken, by the begins of their windows.
    lost: BTreeMap<u64, u64>,
}

impl RowStore {
    /// Gives the rows of a node to a store.
    pub fn new(store: Arc<StoreWriter>, feed: RowFeed) -> Self {
        Self { store, feed, tally: WindowTally::default(), lost: BTreeMap::new() }
    }

    fn tally_rows<K>(&mut self, start_ns: u64, rows: &Rows<K>, lost: u64) -> io::Result<()> {
        match lost {
            0 => self.tally.add(start_ns, rows),
            lost => *self.lost.entry(start_ns).or_default() += lost,
        }
        Ok(())
    }
}

impl RowStore {
    /// A window is closed. `incomplete`: an unknown number of its rows may be missing. `of_records`: its rows are of flow records that ended in it.
    pub fn close(&mut self, closed: &ClosedWindow, incomplete: bool, of_records: bool) {
        let start_ns = closed.span.start_ns;
        let mut facts = self.tally.facts(closed);
        facts.refused_rows = facts.refused_rows.saturating_add(self.lost.remove(&start_ns).unwrap_or(0));
        facts.incomplete = incomplete;
        facts.of_records = of_records;
        self.lost = self.lost.split_off(&start_ns);
        self.feed.close(start_ns, facts, closed.empty_before);
    }
}

impl RowOutput for RowStore {
    fn write_v4(&mut self, start_ns: u64, rows: &Rows<KeyV4>) -> io::Result<()> {
        let lost = self.feed.write_v4(start_ns, rows);
        self.tally_rows(start_ns, rows, lost)
    }

    fn write_v6(&mut self, start_ns: u64, rows: &Rows<KeyV6>) -> io::Result<()> {
        let lost = self.feed.write_v6(start_ns, rows);
        self.tally_rows(start_ns, rows, lost)
    }

    fn warnings(&mut self) -> Vec<String> {
        self.store.remarks()
    }

    fn window(&mut self, closed: &ClosedWindow) {
        self.close(closed, false, false);
    }

    fn finish(self: Box<Self>, _: &Unplaced) -> io::Result<()> {
        self.feed.finish();
        Ok(())
    }
}
