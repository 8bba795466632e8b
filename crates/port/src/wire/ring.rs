//! A descriptor ring: the packets that wait, and those that found it full.

use std::collections::VecDeque;

/// The counts of a ring. `offered = taken + missed + waiting`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingCounts {
    size: u64,
    pub(super) offered: u64,
    pub(super) missed: u64,
    pub(super) waiting: u64,
}

impl RingCounts {
    pub(super) fn new(size: usize) -> Self {
        Self { size: size as u64, offered: 0, missed: 0, waiting: 0 }
    }

    /// All that has arrived so far is `total`. As nothing was taken since the last call, the first of the new
    /// ones fill the free room, and the others are missed. Returns how many found room.
    #[inline(always)]
    pub(super) fn arrive(&mut self, total: u64) -> u64 {
        let new = total - self.offered;
        let accepted = new.min(self.size - self.waiting);
        self.offered = total;
        self.waiting += accepted;
        self.missed += new - accepted;
        accepted
    }

    /// Takes up to this many. Returns how many there were.
    #[inline(always)]
    pub(super) fn take(&mut self, most: u64) -> u64 {
        let taken = most.min(self.waiting);
        self.waiting -= taken;
        taken
    }

    pub(super) fn taken(&self) -> u64 {
        self.offered - self.missed - self.waiting
    }
}

/// The packets of a queue that wait, oldest first, as runs of numbers that follow each other: each time that the ring is full there is a
/// step between two runs.
#[derive(Debug)]
pub(super) struct WaitingPackets(VecDeque<PacketRun>);

#[derive(Clone, Copy, Debug)]
struct PacketRun {
    first: u64,
    count: u64,
}

impl WaitingPackets {
    /// A run has a packet at least, so there are never more than the ring has descriptors.
    pub(super) fn new(ring: usize) -> Self {
        Self(VecDeque::with_capacity(ring))
    }

    #[inline(always)]
    pub(super) fn push(&mut self, first: u64, count: u64) {
        match self.0.back_mut() {
            _ if count == 0 => {}
            Some(run) if run.first + run.count == first => run.count += count,
            _ => self.0.push_back(PacketRun { first, count }),
        }
    }

    /// The oldest run: the first one's number, and how many.
    #[inline(always)]
    pub(super) fn front(&self) -> Option<(u64, u64)> {
        self.0.front().map(|run| (run.first, run.count))
    }

    /// The oldest, at most this many of one run: the first one's number, and how many.
    #[inline(always)]
    pub(super) fn pop(&mut self, most: u64) -> (u64, u64) {
        let Some(run) = self.0.front_mut() else { return (0, 0) };
        let (first, count) = (run.first, run.count.min(most));
        if count == run.count {
            self.0.pop_front();
        } else {
            run.first += count;
            run.count -= count;
        }
        (first, count)
    }
}
