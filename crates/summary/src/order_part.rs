//! Numbers of each flow's first and last packet, by which shares of it are put together ([`crate::FlowShare`]).

use crate::arena::{Arena, OutOfMemory};
use crate::cuckoo::NONE;
use crate::limits::Limits;
use packet::PacketDetail;
use std::cell::Cell;

/// By slot: the first packet's number and the last one's.
#[derive(Debug)]
pub(crate) struct OrderPart {
    numbers: Arena<[u64; 2]>,
}

impl OrderPart {
    const NONE: [u64; 2] = [u64::MAX, 0];

    pub(crate) fn new(slots: usize, limits: &Limits) -> Result<Self, OutOfMemory> {
        Ok(Self { numbers: Arena::reserve(slots, limits)? })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.numbers.bytes()
    }

    /// Makes room for flows up to number `slots`.
    pub(crate) fn make_room(&mut self, slots: usize) -> bool {
        while self.numbers.len() < slots {
            if !self.numbers.make_room() {
                return false;
            }
            self.numbers.push(Self::NONE);
        }
        true
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: usize) {
        self.numbers.prefetch(slot);
    }

    /// A new record begins in `slot`.
    pub(crate) fn clear(&mut self, slot: usize) {
        self.numbers[slot] = Self::NONE;
    }

    /// Takes the numbers of packets whose flows are known. They grow.
    pub(crate) fn update(&mut self, details: &[PacketDetail], slots: &[Cell<u32>]) {
        for (detail, slot) in details.iter().zip(slots) {
            if slot.get() != NONE {
                let numbers = &mut self.numbers[slot.get() as usize];
                *numbers = [numbers[0].min(detail.number), detail.number];
            }
        }
    }

    pub(crate) fn get(&self, slot: usize) -> [u64; 2] {
        self.numbers[slot]
    }

    pub(crate) fn set(&mut self, slot: usize, numbers: [u64; 2]) {
        self.numbers[slot] = numbers;
    }

    pub(crate) fn forget_all(&mut self) {
        self.numbers.clear();
    }
}
