//! Keeps windows and their larger rows.

use super::super::rig;
use engine::{ClosedWindow, RecordSink, WindowId};
use flow::{FlowRecord, LossCounts, WindowRow};
use packet::{FamilyKey, Key, KeySpec};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows with fewer packets are not kept: at a share of one in twenty, a flow with a thousandth of a million packets has fifty.
const LEAST: u64 = 16;

/// A row: its window, flow and packets.
pub(super) type Row = (WindowId, [u8; 13], u64);

/// Windows and rows of a run.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) rows: Arc<Mutex<Vec<Row>>>,
    pub(super) windows: Vec<ClosedWindow>,
    window: WindowId,
    own: Vec<Row>,
}

impl RecordSink for Kept {
    fn record(&mut self, _: FlowRecord) {}

    fn takes_records(&self) -> bool {
        false
    }

    fn begin_rows(&mut self, window: WindowId) {
        self.window = window;
    }

    fn row<K: Key>(&mut self, row: WindowRow<K>, _: Option<&LossCounts>) {
        if row.packets >= LEAST
            && let Some(FamilyKey::V4(key)) = row.key.family()
            && let Some(identity) = rig::bytes_of(&key.flow_key(&KeySpec::FIVE_TUPLE))
        {
            self.own.push((self.window, identity, row.packets));
        }
    }

    fn end_rows(&mut self) -> u64 {
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
