//! Times of the flows whose packets came out of order.

use arena::{Lease, Limits};
use std::collections::HashMap;

/// The times of a record's packets and of their arrival, as far as they are known, all in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordTimes {
    /// Earliest packet.
    pub(crate) stime: u64,
    /// Latest packet.
    pub(crate) ltime: u64,
    /// Stream time when the first packet arrived.
    pub(crate) began: u64,
    /// Stream time when the last packet arrived.
    pub(crate) arrived: u64,
}

/// The part of [`RecordTimes`] that is in neither line of a slot.
#[derive(Clone, Copy, Debug)]
struct Apart {
    ltime: u64,
    began: u64,
    arrived: u64,
}

/// Times of records, by slot, whose packets did not arrive at their own times. Of all others the lines of the slot say it:
/// packets that come in order are what a cache line has room for.
#[derive(Debug)]
pub(crate) struct OutOfOrderTimes {
    apart: HashMap<u32, Apart>,
    limits: Limits,
    lease: Lease,
}

/// Stands in a hot line for the time of the last packet where that arrived at another: no packet is later, so that each
/// takes the rare way, which asks here.
pub(crate) const OUT_OF_ORDER: u64 = u64::MAX;

/// Records for which there is room at first.
const LEAST: usize = 28;

/// Bytes that a map takes with room for this many records: buckets for a load of 7 in 8, each with a byte of its own.
fn bytes_for(records: usize) -> usize {
    (records * 8).div_ceil(7).next_power_of_two() * (size_of::<(u32, Apart)>() + 1)
}

impl OutOfOrderTimes {
    /// Creates the times of no record as yet.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { apart: HashMap::new(), limits: limits.clone(), lease: limits.empty_lease() }
    }

    /// Bytes of memory taken.
    pub(crate) fn bytes(&self) -> usize {
        self.lease.bytes()
    }

    /// Makes room for one more record. False where there is no memory for it.
    pub(crate) fn make_room(&mut self) -> bool {
        if self.apart.len() < self.apart.capacity() {
            return true;
        }
        let records = (self.apart.len() * 2).max(LEAST);
        // The old map and the new one are there together while one becomes the other.
        let Some(lease) = self.limits.lease(bytes_for(records)) else { return false };
        self.apart.reserve(records - self.apart.len());
        self.lease = lease;
        true
    }

    /// Times of the record in a slot whose lines have these.
    #[inline]
    pub(crate) fn times(&self, slot: usize, stime: u64, arrived: u64) -> RecordTimes {
        let in_order = RecordTimes { stime, ltime: arrived, began: stime, arrived };
        if self.apart.is_empty() { in_order } else { self.times_apart(slot, in_order) }
    }

    fn times_apart(&self, slot: usize, in_order: RecordTimes) -> RecordTimes {
        let Some(&Apart { ltime, began, arrived }) = self.apart.get(&(slot as u32)) else { return in_order };
        match in_order.arrived {
            OUT_OF_ORDER => RecordTimes { ltime, began, arrived, ..in_order },
            _ => RecordTimes { began, ..in_order },
        }
    }

    /// Keeps the times of the record in a slot, for which there must be room unless they are in order. Gives what its hot line
    /// is to have as the time of the last packet.
    pub(crate) fn set(&mut self, slot: usize, times: &RecordTimes) -> u64 {
        let &RecordTimes { stime, ltime, began, arrived } = times;
        if (ltime, stime) == (arrived, began) {
            self.forget(slot);
            return arrived;
        }
        debug_assert!(self.apart.len() < self.apart.capacity() || self.apart.contains_key(&(slot as u32)));
        self.apart.insert(slot as u32, Apart { ltime, began, arrived });
        if ltime == arrived { arrived } else { OUT_OF_ORDER }
    }

    /// The record in a slot has ended.
    #[inline]
    pub(crate) fn forget(&mut self, slot: usize) {
        if !self.apart.is_empty() {
            self.apart.remove(&(slot as u32));
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.apart.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_order_takes_no_place() {
        let mut arrivals = OutOfOrderTimes::new(&Limits::new(1 << 20, 0));
        let in_order = RecordTimes { stime: 5, ltime: 9, began: 5, arrived: 9 };
        assert_eq!(arrivals.set(3, &in_order), 9);
        assert_eq!((arrivals.times(3, 5, 9), arrivals.bytes()), (in_order, 0));
        let late = RecordTimes { stime: 4, ltime: 9, began: 5, arrived: 20 };
        assert!(arrivals.make_room());
        assert_eq!(arrivals.set(3, &late), OUT_OF_ORDER);
        assert_eq!(arrivals.times(3, 4, OUT_OF_ORDER), late);
        assert_eq!(arrivals.times(2, 5, 9), in_order, "of another slot");
        // The next one in order: only the beginning is apart.
        let then = RecordTimes { ltime: 21, arrived: 21, ..late };
        assert_eq!((arrivals.set(3, &then), arrivals.times(3, 4, 22).began), (21, 5));
        arrivals.forget(3);
        assert_eq!(arrivals.times(3, 4, 22).began, 4);
    }

    #[test]
    fn room_is_taken_out_of_the_limits() {
        let limits = Limits::new(bytes_for(LEAST), 0);
        let mut arrivals = OutOfOrderTimes::new(&limits);
        let late = RecordTimes { stime: 1, ltime: 1, began: 2, arrived: 2 };
        let mut kept = 0;
        while arrivals.make_room() {
            arrivals.set(kept, &late);
            kept += 1;
        }
        assert!(kept >= LEAST && limits.bytes_used() == arrivals.bytes());
        assert!((0..kept).all(|slot| arrivals.times(slot, 1, OUT_OF_ORDER) == late));
        drop(arrivals);
        assert_eq!(limits.bytes_used(), 0);
    }
}
