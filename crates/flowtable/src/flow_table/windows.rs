//! The windows of the counts: they turn, are sealed, and the sweep visits what no packet does.

use super::{FlowSink, FlowTable};
use crate::timeouts::{Stale, Timeouts};
use crate::touched::TURNS_PER_PASS;
use flow::MAX_STATISTICS;
use packet::Key;

/// Listed flows whose lines are being fetched while one is sealed.
const AHEAD: usize = 16;

impl<K: Key> FlowTable<K> {
    /// Number of the open window, from 0 on, modulo 2^16.
    pub fn window(&self) -> u16 {
        self.window
    }

    /// Opens the next window: the counts of each flow are sealed by its first packet in it, or by the sweep.
    /// The sweep must have completed a pass since the last turn ([`FlowTable::sweep`] returned true).
    pub fn turn(&mut self) {
        self.window = self.window.wrapping_add(1);
        self.is_sealing = true;
        let Timeouts { idle_ns, active_ns } = self.config.timeouts;
        let is_due =
            self.now >= self.touched.whole_at.saturating_add(idle_ns.min(active_ns) / TURNS_PER_PASS);
        // What a pair's packet tells of the other direction is not listed.
        let may_list = self.slot_bits == 0;
        if !self.touched.turn(self.entries, may_list, is_due) {
            self.swept = 0;
            self.touched.whole_at = self.now;
        }
    }

    /// Examines up to `entries` entries: ends flows that are past a timeout and seals the counts of closed
    /// windows. Returns true when it has reached the end of the table; the next call starts again. After a turn from a window
    /// with few of the table's flows, it examines these alone.
    ///
    /// Linear, so that the processor reads ahead: a million flows take some 64 MB, that is about 6 ms.
    pub fn sweep(&mut self, entries: usize, sink: &mut impl FlowSink) -> bool {
        let stale = self.config.timeouts.stale_at(self.now);
        if let Some(closing) = self.touched.take_closing() {
            for (at, &slot) in closing.iter().enumerate() {
                if let Some(&ahead) = closing.get(at + AHEAD) {
                    self.hot.prefetch(ahead as usize);
                    self.cold.prefetch(ahead as usize);
                }
                self.examine(slot as usize, stale, sink);
            }
            self.touched.give_back(closing);
            return true;
        }
        let end_at = self.entries.min(self.swept.saturating_add(entries));
        for slot in self.swept << self.slot_bits..end_at << self.slot_bits {
            self.examine(slot, stale, sink);
        }
        let done = end_at == self.entries;
        self.swept = if done { 0 } else { end_at };
        self.is_sealing &= !done || self.touched.is_listing;
        done
    }

    /// Entries that a whole sweep examines.
    pub fn sweep_len(&self) -> usize {
        self.entries
    }

    /// Ends the flow in `slot` if it is past a timeout, and seals its counts of the closed window.
    #[inline]
    fn examine(&mut self, slot: usize, stale: Stale, sink: &mut impl FlowSink) {
        let hot = &self.hot[slot];
        if !hot.is_live() {
            if hot.has_left() {
                if !hot.is_in(self.window) {
                    self.enter_window(slot, sink);
                    self.remove_if_vacant(slot);
                }
            } else if self.slot_bits != 0 && self.hot[slot ^ 1].is_live() {
                if self.loss.is_some() {
                    self.enter_window(slot, sink);
                }
            } else if self.slot_bits != 0 && hot.is_second() {
                // Not one that is free: those have no direction.
                self.remove_if_vacant(slot);
            }
        } else if stale.may_be_due(hot)
            && let Some(reason) = self.due(slot)
        {
            let ended = self.end(slot, reason, sink);
            self.limits.give_back_flows(ended);
            self.forget_connection_if_vacant(slot >> self.slot_bits);
            self.remove_if_vacant(slot);
        } else if !self.touched.is_listing {
            self.enter_window(slot, sink);
        } else if !self.hot[slot].is_in(self.window) {
            // It enters the open window by its first packet there, and is listed then.
            self.seal(slot, sink);
            self.hot[slot].enter(self.window.wrapping_sub(1));
        }
    }

    /// Closes the counts in `slot` if they are of an earlier window. For a pair's slot without a record these
    /// are what was booked for the direction since its record ended.
    #[inline]
    pub(super) fn enter_window(&mut self, slot: usize, sink: &mut impl FlowSink) {
        if !self.hot[slot].is_in(self.window) {
            self.seal(slot, sink);
            self.hot[slot].enter(self.window);
            self.touched.note(slot);
        }
    }

    /// Emits the flow's row of the window that its counts are of, if any.
    #[inline]
    pub(super) fn seal(&mut self, slot: usize, sink: &mut impl FlowSink) {
        let loss = self.loss.as_mut().map(|loss| loss.seal(slot));
        let open = self.window;
        let number = slot;
        let mut slot = self.slot(slot);
        if !slot.is_sealed() || loss.is_some_and(|loss| !loss.is_empty()) {
            let window = if slot.hot.is_in(open) { open } else { open.wrapping_sub(1) };
            let mut row = slot.seal();
            if let Some(headers) = &mut self.headers {
                row.headers = headers.seal(number);
            }
            if let Some(statistics) = &mut self.statistics
                && statistics.has_windows()
                && row.packets != 0
            {
                let mut values = [f64::NAN; MAX_STATISTICS];
                let count = statistics.seal(number, &mut values);
                sink.row_statistics(row.key, &values[..count]);
            }
            sink.window_sealed(window, row, loss.as_ref());
            self.touched.rows += 1;
        }
    }
}
