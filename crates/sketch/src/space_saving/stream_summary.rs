//! Counters in ascending order, in groups of equal count.
//!
//! Metwally's stream-summary as arrays instead of lists in lists: a counter that grows by one is swapped with
//! the last of its group, and then belongs to the next group, or forms a new one.

use super::PriorityQueue;
use crate::SketchError;
use crate::memory::{filled, prefetch};

/// A list of counters sorted by count, the order of [`SpaceSavingSummary`](super::SpaceSavingSummary).
#[derive(Clone, Debug)]
pub struct StreamSummary {
    /// Counters by count, the least first.
    sorted: Box<[SummaryPosition]>,
    /// The place of each counter in `sorted`.
    places: Box<[u32]>,
    /// Groups of equal count: as many as there are counters, since each in use has one at least.
    groups: Box<[CountGroup]>,
    /// First of the groups that are not in use; each has the next one as its `last`.
    free: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct SummaryPosition {
    number: u32,
    group: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct CountGroup {
    count: u64,
    /// Place of the last member.
    last: u32,
}

impl StreamSummary {
    #[inline(always)]
    fn put(&mut self, place: u32, number: u32, group: u32) {
        self.sorted[place as usize] = SummaryPosition { number, group };
        self.places[number as usize] = place;
    }

    #[inline(always)]
    fn group_at(&self, place: u32) -> Option<u32> {
        self.sorted.get(place as usize).map(|place| place.group)
    }
}

impl PriorityQueue for StreamSummary {
    const KIND: &'static str = "SpaceSaving with a stream-summary";
    const BYTES: usize = size_of::<SummaryPosition>() + size_of::<u32>() + size_of::<CountGroup>();

    fn new(capacity: usize) -> Result<Self, SketchError> {
        let mut summary = Self {
            sorted: filled(capacity, SummaryPosition::default())?,
            places: filled(capacity, 0)?,
            groups: filled(capacity, CountGroup::default())?,
            free: 0,
        };
        summary.set_all(std::iter::repeat_n(0, capacity));
        Ok(summary)
    }

    #[inline(always)]
    fn prefetch(&self, number: u32) {
        prefetch(&self.places, number as usize);
    }

    #[inline(always)]
    fn count(&self, number: u32) -> u64 {
        self.groups[self.sorted[self.places[number as usize] as usize].group as usize].count
    }

    /// The last of its group, which need not be swapped.
    #[inline(always)]
    fn least(&self) -> (u32, u64) {
        let CountGroup { count, last } = self.groups[self.sorted[0].group as usize];
        (self.sorted[last as usize].number, count)
    }

    #[inline(always)]
    fn increase(&mut self, number: u32, weight: u64) {
        let place = self.places[number as usize];
        let group = self.sorted[place as usize].group;
        let CountGroup { count, last } = self.groups[group as usize];
        let target = count.saturating_add(weight);
        let mut at = last;
        if place != last {
            self.put(place, self.sorted[last as usize].number, group);
        }
        let is_alone = last == 0 || self.sorted[last as usize - 1].group != group;
        // Past all that are less; with a weight of one there are none.
        let mut next = self.group_at(last + 1);
        while let Some(passed) = next.filter(|next| self.groups[*next as usize].count < target) {
            let end = self.groups[passed as usize].last;
            self.put(at, self.sorted[end as usize].number, passed);
            self.groups[passed as usize].last = end - 1;
            at = end;
            next = self.group_at(end + 1);
        }
        let joined = next.filter(|next| self.groups[*next as usize].count == target);
        if !is_alone {
            self.groups[group as usize].last = last - 1;
        }
        let group = match (joined, is_alone) {
            (Some(joined), true) => {
                self.groups[group as usize].last = self.free;
                self.free = group;
                joined
            }
            (Some(joined), false) => joined,
            (None, true) => {
                self.groups[group as usize] = CountGroup { count: target, last: at };
                group
            }
            (None, false) => {
                let new = self.free;
                self.free = self.groups[new as usize].last;
                self.groups[new as usize] = CountGroup { count: target, last: at };
                new
            }
        };
        self.put(at, number, group);
    }

    fn set_all(&mut self, counts: impl Iterator<Item = u64>) {
        let mut used = 0_u32;
        for (number, count) in (0..).zip(counts) {
            if used == 0 || self.groups[used as usize - 1].count != count {
                self.groups[used as usize].count = count;
                used += 1;
            }
            self.groups[used as usize - 1].last = number;
            self.put(number, number, used - 1);
        }
        for (group, at) in (used..).zip(&mut self.groups[used as usize..]) {
            at.last = group + 1;
        }
        self.free = used;
    }
}
