//! Keeps windows and their larger rows.

use super::super::rig;
use engine::{ClosedWindow, RecordSink, WindowId};
use flow::{FlowRecord, LossCounts, WindowRow};
use packet::{FamilyKey, Key, KeySpec};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of packets of a window's rows for each row that is kept: a quarter of what a heavy flow has. All rows of a run would be memory
/// that grows while it is measured, and the kernel's work for it stops the threads.
const KEPT: u64 = 4000;

/// A row: its window, flow and packets.
pub(super) type SinkRow = (WindowId, [u8; 13], u64);

/// Windows and rows of a run.
#[derive(Default)]
pub(super) struct CollectedWindows {
    pub(super) rows: Arc<Mutex<Vec<SinkRow>>>,
    pub(super) windows: Vec<ClosedWindow>,
    window: WindowId,
    /// The rows of the window at hand, and their packets.
    own: Vec<SinkRow>,
    packets: u64,
}

impl RecordSink for CollectedWindows {
    fn record(&mut self, _: FlowRecord) {}

    fn takes_records(&self) -> bool {
        false
    }

    fn begin_rows(&mut self, window: WindowId) {
        self.window = window;
        self.packets = 0;
    }

    fn row<K: Key>(&mut self, row: WindowRow<K>, _: Option<&LossCounts>) {
        self.packets += row.packets;
        if let Some(FamilyKey::V4(key)) = row.key.family()
            && let Some(identity) = rig::bytes_of(&key.flow_key(&KeySpec::FIVE_TUPLE))
        {
            self.own.push((self.window, identity, row.packets));
        }
    }

    fn end_rows(&mut self) -> u64 {
        self.own.retain(|(_, _, packets)| packets * KEPT >= self.packets);
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.own);
        0
    }

    fn window(&mut self, window: ClosedWindow) -> bool {
        self.windows.push(window);
        true
    }

    fn sibling(&self) -> Self {
        Self { rows: Arc::clone(&self.rows), ..Self::default() }
    }

    fn absorb(&mut self, _: Self) {}
}
