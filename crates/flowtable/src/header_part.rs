//! Header fields of every flow (`--headers`).

use crate::cuckoo::NONE;
use arena::{Arena, Limits, OutOfMemory};
use flow::HeaderValues;
use std::cell::Cell;

/// The header fields of what one slot has counted.
#[derive(Clone, Copy, Debug, Default)]
struct HeaderState {
    /// The values of the record's packets in the open window.
    window: HeaderValues,
    /// The values of the record's packets before the open window.
    sealed: HeaderValues,
    /// The values of packets in the open window whose records have ended.
    left: HeaderValues,
}

/// Header fields of every flow, by slot. A packet touches one cache line of them, or two.
#[derive(Debug)]
pub(crate) struct HeaderPart {
    states: Arena<HeaderState>,
}

impl HeaderPart {
    pub(crate) fn new(slots: usize, limits: &Limits) -> Result<Self, OutOfMemory> {
        Ok(Self { states: Arena::reserve(slots, limits)? })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// Makes room for flows up to number `slots`.
    pub(crate) fn make_room(&mut self, slots: usize) -> bool {
        while self.states.len() < slots {
            if !self.states.make_room() {
                return false;
            }
            self.states.push(HeaderState::default());
        }
        true
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: usize) {
        self.states.prefetch(slot);
    }

    /// Counts packets whose slots are known.
    pub(crate) fn update(&mut self, packets: &[HeaderValues], slots: &[Cell<u32>]) {
        for (values, slot) in packets.iter().zip(slots) {
            if slot.get() != NONE {
                self.states[slot.get() as usize].window.merge(values);
            }
        }
    }

    /// Counts packets of the flow in `slot` that were counted elsewhere.
    pub(crate) fn add(&mut self, slot: usize, values: &HeaderValues) {
        self.states[slot].window.merge(values);
    }

    /// Returns the values of the record in `slot`, so far.
    pub(crate) fn of_record(&self, slot: usize) -> HeaderValues {
        let HeaderState { window, sealed, .. } = &self.states[slot];
        let mut record = *sealed;
        record.merge(window);
        record
    }

    /// Ends the record in `slot`. Its values in the open window remain to be sealed.
    pub(crate) fn end(&mut self, slot: usize) {
        let HeaderState { window, sealed, left } = &mut self.states[slot];
        left.merge(window);
        (*window, *sealed) = (HeaderValues::NONE, HeaderValues::NONE);
    }

    /// Returns the values of the closing window.
    pub(crate) fn seal(&mut self, slot: usize) -> HeaderValues {
        let HeaderState { window, sealed, left } = &mut self.states[slot];
        sealed.merge(window);
        let mut values = std::mem::take(left);
        values.merge(&std::mem::take(window));
        values
    }

    pub(crate) fn forget_all(&mut self) {
        self.states.clear();
    }
}
