//! The connections of pinned flows, of both address families.

use super::table::ZoomTable;
use crate::flow_table::FlowSink;
use crate::timeouts::Timeouts;
use arena::Limits;
use arena::OutOfMemory;
use packet::{KeyV4, KeyV6, Pins, Seed};
use std::sync::Arc;

/// Tables that are turned and swept together.
#[derive(Debug)]
pub(super) struct LossTables {
    pub(super) v4: ZoomTable<KeyV4>,
    pub(super) v6: ZoomTable<KeyV6>,
    /// The sweep is past the first table.
    v4_is_swept: bool,
}

impl LossTables {
    /// Creates the losses of no flow yet, which take memory out of `limits` later. A window is open that has these pins.
    ///
    /// # Errors
    /// If address space for the maximum of `limits` cannot be reserved.
    pub(super) fn new(
        seed: Seed,
        timeouts: Timeouts,
        pins: &Arc<Pins>,
        limits: &Limits,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            v4: ZoomTable::new(seed, timeouts, Arc::clone(pins), limits)?,
            v6: ZoomTable::new(seed, timeouts, Arc::clone(pins), limits)?,
            v4_is_swept: false,
        })
    }

    /// The open window, no packet of which has come, has these pins.
    pub(super) fn set_pins(&mut self, pins: &Arc<Pins>) {
        self.v4.set_pins(Arc::clone(pins));
        self.v6.set_pins(Arc::clone(pins));
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }

    /// Opens the next window. The sweep must have completed a pass since the last turn.
    pub(super) fn turn(&mut self) {
        self.v4.turn();
        self.v6.turn();
        self.v4_is_swept = false;
    }

    /// Sweeps the connections of both address families as [`super::Zoom::sweep`] does.
    pub(super) fn sweep(&mut self, connections: usize, now: u64, sink: &mut impl FlowSink) -> bool {
        self.v4_is_swept = self.v4_is_swept || self.v4.sweep(connections, now, sink);
        let is_done = self.v4_is_swept && self.v6.sweep(connections, now, sink);
        self.v4_is_swept &= !is_done;
        is_done
    }

    /// Ends the connections of both address families as [`super::Zoom::end`] does.
    pub(super) fn end(&mut self) {
        self.v4.end();
        self.v6.end();
        self.v4_is_swept = false;
    }
}
