//! TCP losses of pinned flows alone ([`packet::Pins`]): tables of connections beside the flow tables, which therefore pay nothing for it.
//! The parser names the packets of pinned flows; nothing else of a burst is read here.
//!
//! A connection is followed from the first packet on that is named, be it the first of the connection or not, and until its flows are
//! pinned no longer, or both its directions have been silent for longer than the idle timeout.

mod table;
#[cfg(test)]
mod tests;

use crate::arena::OutOfMemory;
use crate::flow_table::FlowSink;
use crate::limits::Limits;
use crate::tcp::LossCounts;
use crate::timeouts::Timeouts;
use packet::{Bursts, FamilyKey, Key, KeyV4, KeyV6, Pins, Seed};
use std::sync::Arc;
use table::ZoomTable;

/// Follows the connections of pinned flows, and tells what was found of each key in each window.
#[derive(Debug)]
pub struct Zoom {
    v4: ZoomTable<KeyV4>,
    v6: ZoomTable<KeyV6>,
    /// The sweep is past the first table.
    v4_is_swept: bool,
}

impl Zoom {
    /// Nothing is followed yet, and takes memory out of `limits` later. A window is open that has these pins.
    ///
    /// # Errors
    /// If address space for the maximum of `limits` cannot be reserved.
    pub fn new(
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

    /// The open window, no packet of which has come, has these pins. Connections that they do not have are followed no longer; what is
    /// open of them is not decided.
    pub fn set_pins(&mut self, pins: &Arc<Pins>) {
        self.v4.set_pins(Arc::clone(pins));
        self.v6.set_pins(Arc::clone(pins));
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }

    /// Follows the packets that bursts name. Gives the number of those for whose connections there is no memory.
    #[inline]
    pub fn count(&mut self, bursts: &Bursts) -> u64 {
        self.v4.count(&bursts.v4) + self.v6.count(&bursts.v6)
    }

    /// The losses of the row of a key in the window that is being sealed, to be asked once; `None` if they were not tracked: the key was
    /// not pinned, or there was no memory.
    #[inline(always)]
    pub fn loss<K: Key>(&mut self, key: K) -> Option<LossCounts> {
        match key.family()? {
            FamilyKey::V4(key) => self.v4.loss(&key),
            FamilyKey::V6(key) => self.v6.loss(&key),
        }
    }

    /// Opens the next window. The sweep must have completed a pass since the last turn.
    pub fn turn(&mut self) {
        self.v4.turn();
        self.v6.turn();
        self.v4_is_swept = false;
    }

    /// Looks at up to so many connections at stream time `now`: ends what has been silent for too long. After a turn, when all rows of
    /// the flow tables are sealed, what no row has been asked for is given as rows without packets, and what is not followed any longer
    /// is removed. True when it has reached the end; the next call starts again.
    pub fn sweep(&mut self, connections: usize, now: u64, sink: &mut impl FlowSink) -> bool {
        self.v4_is_swept = self.v4_is_swept || self.v4.sweep(connections, now, sink);
        let is_done = self.v4_is_swept && self.v6.sweep(connections, now, sink);
        self.v4_is_swept &= !is_done;
        is_done
    }

    /// The source has ended, and the last window is turned away from: what is open of all connections is decided in it. Rows are to be
    /// sealed and swept afterwards.
    pub fn end(&mut self) {
        self.v4.end();
        self.v6.end();
        self.v4_is_swept = false;
    }
}
