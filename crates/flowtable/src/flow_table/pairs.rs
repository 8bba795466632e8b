//! The two directions of a pair: which one answers, and the state that they share.

use super::FlowTable;
use crate::timeouts::Timeouts;
use flow::EndReason;
use packet::{Key, PacketFields};
use tcp::flag::{ACK, SYN};

/// TCP flags of the answer to a SYN.
const SYN_ACK: u8 = SYN | ACK;

impl<K: Key> FlowTable<K> {
    /// Returns true if the direction whose record begins in `slot` by this packet is the one that answers (RFC 5103, section 6.3): by a
    /// SYN; else by the other direction's record, or by that of both that ended by the active timeout before; else it is the first.
    pub(super) fn begins_second(&self, slot: usize, packet: &PacketFields) -> bool {
        if self.slot_bits == 0 {
            return false;
        }
        let other = slot ^ 1;
        let first_is_other = self.hot[other].is_live() && !self.hot[other].is_second();
        match packet.tcp_flags & (SYN | ACK) {
            // Both may open at the same time.
            SYN => first_is_other && (self.hot[other].tcp_flags | self.cold[other].sealed_flags()) & SYN != 0,
            SYN_ACK => true,
            _ if self.hot[other].is_live() => first_is_other,
            _ => {
                let now = self.now.max(packet.time_ns);
                self.remembers(slot >> 1, now) && self.hot[slot].is_second()
            }
        }
    }

    /// True if an entry without a record is kept because it has the direction of the one that ended, which goes on.
    pub(super) fn remembers(&self, entry: usize, now: u64) -> bool {
        let (slot, other) = (entry << self.slot_bits, entry << self.slot_bits | 1);
        let Timeouts { idle_ns, active_ns } = self.config.timeouts;
        self.config.parts.biflow
            && self.hot[slot].is_second() != self.hot[other].is_second()
            && now.saturating_sub(self.cold[slot].last_of_both()) <= idle_ns.min(active_ns)
    }

    /// The record of a pair has ended, whose last packet had this time. What goes on after the active timeout keeps its direction; after
    /// silence it is told anew.
    pub(super) fn remember_direction(&mut self, slot: usize, reason: EndReason, ltime: u64) {
        if reason == EndReason::Active {
            self.cold[slot & !1].set_last_of_both(ltime);
        } else {
            self.forget_direction(slot);
        }
    }

    pub(super) fn forget_direction(&mut self, slot: usize) {
        self.hot[slot].set_second(false);
        self.hot[slot ^ 1].set_second(false);
    }

    /// Makes both directions of a pair as old as the older of both, with `--biflow`.
    #[inline]
    pub(super) fn age_pair(&mut self, slot: usize) {
        if self.config.parts.biflow && self.hot[slot ^ 1].is_live() {
            let earlier = self.hot[slot].start_coarse.min(self.hot[slot ^ 1].start_coarse);
            (self.hot[slot].start_coarse, self.hot[slot ^ 1].start_coarse) = (earlier, earlier);
        }
    }

    /// Discards the TCP connection of an entry if both its records have ended. What was booked for it in the
    /// open window is still to be sealed.
    pub(super) fn forget_connection_if_vacant(&mut self, entry: usize) {
        let Some(loss) = &mut self.loss else { return };
        let slots = [entry << 1, entry << 1 | 1];
        if slots.iter().any(|&slot| self.hot[slot].is_live()) {
            return;
        }
        loss.forget(entry);
        for slot in slots {
            if loss.has_open(slot) {
                self.hot[slot].set_left();
            }
        }
    }
}
