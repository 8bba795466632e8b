//! The counters of a queue; readable from other threads while it runs.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The counters of one receive queue, or of several together.
///
/// `offered = delivered + imissed + waiting`, always; the same holds with the clock stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounters {
    /// Packets that have arrived.
    pub offered: u64,
    /// Packets that were handed to the receiver.
    pub delivered: u64,
    /// Packets that found the ring full.
    pub imissed: u64,
    /// Packets that would have arrived if the wire's clock had stopped while the receiver was off its core.
    pub offered_clock_stopped: u64,
    /// The packets of `offered_clock_stopped` that would have found the ring full.
    pub imissed_clock_stopped: u64,
    /// The number of times that the receiver was off its core for long enough to be detected.
    pub gaps: u64,
    /// The length of all gaps together, nanoseconds.
    pub gap_ns: u64,
    /// The length of the longest gap, nanoseconds.
    pub longest_gap_ns: u64,
    /// Times that no mbuf was available for a packet; the packet stayed in the ring. 0 without mbufs.
    pub rx_nombuf: u64,
}

const FIELDS: usize = 9;

impl WireCounters {
    /// Packets in the ring.
    pub fn waiting(&self) -> u64 {
        self.offered - self.delivered - self.imissed
    }

    /// The sum of several queues; of the longest gaps the longest.
    pub fn sum(queues: impl IntoIterator<Item = Self>) -> Self {
        queues.into_iter().fold(Self::default(), |sum, queue| Self {
            longest_gap_ns: sum.longest_gap_ns.max(queue.longest_gap_ns),
            ..sum.zip(queue, |sum, more| sum + more)
        })
    }

    /// Returns what was counted after `before`; the longest gap is that of the whole time.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { longest_gap_ns: self.longest_gap_ns, ..self.zip(before, |all, before| all - before) }
    }

    fn zip(self, other: Self, both: impl Fn(u64, u64) -> u64) -> Self {
        let (a, b) = (self.to_array(), other.to_array());
        Self::from_array(std::array::from_fn(|i| both(a[i], b[i])))
    }

    fn to_array(self) -> [u64; FIELDS] {
        [
            self.offered,
            self.delivered,
            self.imissed,
            self.offered_clock_stopped,
            self.imissed_clock_stopped,
            self.gaps,
            self.gap_ns,
            self.longest_gap_ns,
            self.rx_nombuf,
        ]
    }

    fn from_array(values: [u64; FIELDS]) -> Self {
        let [
            offered,
            delivered,
            imissed,
            offered_clock_stopped,
            imissed_clock_stopped,
            gaps,
            gap_ns,
            longest_gap_ns,
            rx_nombuf,
        ] = values;
        Self {
            offered,
            delivered,
            imissed,
            offered_clock_stopped,
            imissed_clock_stopped,
            gaps,
            gap_ns,
            longest_gap_ns,
            rx_nombuf,
        }
    }
}

/// The counters of one queue, written by its receiver and read by any thread: a sequence lock, so that a reader always gets counters of one
/// moment, and the writer never waits.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct SharedCounters {
    /// The sequence number, which is odd while the values are written.
    sequence: AtomicU64,
    values: [AtomicU64; FIELDS],
}

impl SharedCounters {
    /// Writes the counters. Only one thread at a time may do so.
    #[inline]
    pub(super) fn write(&self, counters: WireCounters) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (place, value) in self.values.iter().zip(counters.to_array()) {
            place.store(value, Ordering::Relaxed);
        }
        self.sequence.store(sequence + 2, Ordering::Release);
    }

    pub(super) fn read(&self) -> WireCounters {
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            let values = std::array::from_fn(|i| self.values[i].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == before {
                return WireCounters::from_array(values);
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_one_moment() {
        let shared = SharedCounters::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..200_000 {
                    shared.write(WireCounters::from_array([n; FIELDS]));
                }
            });
            loop {
                let values = shared.read().to_array();
                assert_eq!(values, [values[0]; FIELDS]);
                if values[0] == 199_999 {
                    return;
                }
            }
        });
    }

    #[test]
    fn sums_add_all_but_the_longest_gap() {
        let one = WireCounters::from_array([9, 2, 3, 4, 5, 6, 7, 8, 9]);
        let sum = WireCounters::sum([one, WireCounters { longest_gap_ns: 1, ..one }]);
        assert_eq!(sum.to_array(), [18, 4, 6, 8, 10, 12, 14, 8, 18]);
        assert_eq!(sum.waiting(), 8);
        // The longest gap is that of the whole time, the other counters are the increase since.
        assert_eq!(sum.since(one), one);
        assert_eq!(sum.since(sum).to_array(), [0, 0, 0, 0, 0, 0, 0, 8, 0]);
    }
}
