//! Counts of a TCP loss tracker for one direction in one window, as sums that windows and records add up.

use crate::Loss;

/// The losses that were found of one direction of a connection since the last query. 72 bytes.
///
/// `docs/loss.md` defines each figure at a tap in the middle of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Bytes that were skipped in sequence space here and not filled within the reordering window: lost before
    /// this point, whether repaired later or not.
    pub ploss_byte: u64,
    /// Bytes of payload whose sequence numbers had been seen here: lost after this point, or sent
    /// unnecessarily.
    pub retrans_byte: u64,
    /// Bytes that the peer acknowledged though they were never seen here: missed by the tap, not lost in the
    /// network.
    pub unseen_byte: u64,
    /// Shortest round trip from here to the receiver and back, nanoseconds; 0 where `rtt_count` is 0.
    pub rtt_min_ns: u64,
    /// Sum of those round trips, nanoseconds.
    pub rtt_sum_ns: u64,
    /// Number of those round trips.
    pub rtt_count: u32,
    /// Segments that repaired what `ploss_byte` counts, or hole ÷ largest segment, rounded up, if nothing
    /// did.
    pub ploss_count: u32,
    /// Segments that filled a hole within the reordering window.
    pub reorder_count: u32,
    /// Segments with sequence numbers that had been seen here, SYN and FIN included.
    pub retrans_count: u32,
    /// Segments with a window of zero, except SYN, FIN and RST.
    pub zero_window_count: u32,
    /// Holes that opened in sequence space.
    pub hole_count: u32,
    /// Times that tracking was restarted at new sequence numbers, because they were beyond what any window
    /// allows.
    pub resync_count: u32,
}

const _: () = assert!(size_of::<LossCounts>() == 72);

impl LossCounts {
    /// The value in the place of a row's losses that were not tracked. No tracker counts as much.
    pub const UNTRACKED: Self = Self {
        ploss_byte: 0,
        retrans_byte: 0,
        unseen_byte: 0,
        rtt_min_ns: 0,
        rtt_sum_ns: 0,
        rtt_count: 0,
        ploss_count: 0,
        reorder_count: 0,
        retrans_count: 0,
        zero_window_count: 0,
        hole_count: 0,
        resync_count: u32::MAX,
    };

    /// False for [`LossCounts::UNTRACKED`].
    #[inline]
    pub fn are_tracked(&self) -> bool {
        self.resync_count != u32::MAX
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.ploss_byte += other.ploss_byte;
        self.retrans_byte += other.retrans_byte;
        self.unseen_byte += other.unseen_byte;
        self.add_rtt(other.rtt_count, other.rtt_min_ns, other.rtt_sum_ns);
        self.ploss_count += other.ploss_count;
        self.reorder_count += other.reorder_count;
        self.retrans_count += other.retrans_count;
        self.zero_window_count += other.zero_window_count;
        self.hole_count += other.hole_count;
        self.resync_count += other.resync_count;
    }

    /// Mean round trip from here to the receiver and back, nanoseconds; `None` if none was measured.
    pub fn rtt_avg_ns(&self) -> Option<u64> {
        self.rtt_sum_ns.checked_div(self.rtt_count.into())
    }

    /// True if there is nothing to report.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds round trips: how many, the least and the sum of them, nanoseconds.
    pub fn add_rtt(&mut self, count: u32, min_ns: u64, sum_ns: u64) {
        if count != 0 {
            self.rtt_min_ns = if self.rtt_count == 0 { min_ns } else { self.rtt_min_ns.min(min_ns) };
            self.rtt_sum_ns += sum_ns;
            self.rtt_count += count;
        }
    }
}

impl From<&LossCounts> for Loss {
    fn from(counts: &LossCounts) -> Self {
        Self {
            ploss_byte: counts.ploss_byte,
            ploss_count: counts.ploss_count.into(),
            reorder_count: counts.reorder_count.into(),
            retrans_count: counts.retrans_count.into(),
            retrans_byte: counts.retrans_byte,
            unseen_byte: counts.unseen_byte,
            zero_window_count: counts.zero_window_count.into(),
            hole_count: counts.hole_count.into(),
            resync_count: counts.resync_count.into(),
            rtt_min: (counts.rtt_count != 0).then_some(counts.rtt_min_ns),
            rtt_avg: counts.rtt_avg_ns(),
        }
    }
}
